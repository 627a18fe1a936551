// Room: report.
// Job: what an allocator holds on a card beside its blocks, and what the card shows beside all that: for people
// and as JSON.
#pragma once

#include "analyzer/report/json.h"
#include "analyzer/report/lines.h"
#include "analyzer/report/view.h"

namespace memtrace::report {

// Of the segments at the peak of `reserved`, unused bytes by what it would take to give them back.
struct Unused {
  std::uint64_t kept = 0; // in segments with a block in them: it keeps the rest
  std::size_t keeping = 0;
  std::uint64_t empty = 0; // in segments without: cached whole
  std::size_t empties = 0;
  std::uint64_t sum() const { return kept + empty; }
};
Unused unused_of(const fold::Segments& segments);
std::string in_words(
    const Unused& unused); // "3816.00 MiB in 9 segments beside blocks, 20.00 MiB in 1 empty segment"

// "context 480.00 MiB, code 20.00 MiB, local memory and the rest 0.00 MiB: an estimate"
std::string divided(const fold::CardUse& card);

void write_segments(View& view, Lines& lines);
Json segments_json(View& view, const fold::Segments& segments, std::size_t top);
Json residual_json(const fold::CardUse& card);

} // namespace memtrace::report
