// Purpose: writes the segments of a device's allocator as text.
#include "analyzer/print/text/segments_text.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "analyzer/explain/segment_use.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

constexpr std::size_t kShown = 5; // lines; similar segments share a line

// Returns "424.00 MiB of 1024.00 MiB unused, 1 block: train.py:7, load".
std::string line_of(ProcessAnalysis& analysis, const replay::AllocatorSegment& segment) {
  const std::string text =
      fmt::format("{:>11} of {:>11} unused, ", sized(segment.unused()), sized(segment.bytes));
  if (segment.blocks == 0) return text + "empty";
  const std::string site =
      segment.holder == format::StackId{} ? "-" : printable(analysis.symbolizer->site(segment.holder).title());
  const std::string blocks =
      fmt::format("{} {}: ", count(segment.blocks), segment.blocks == 1 ? "block" : "blocks");
  const std::string since =
      ", " + when(printable(analysis.account.paths.text(segment.holder_phase)), segment.holder_step);
  constexpr std::size_t kIndent = 8, kLeast = 12; // the least columns of a site
  const std::size_t taken = kIndent + columns(text + blocks + since);
  return text + blocks + shortened(site, taken + kLeast > kColumns ? kLeast : kColumns - taken) + since;
}

// Returns the bytes of expandable segments: the allocator's total less the bytes of the other segments.
std::uint64_t mapped(const ProcessAnalysis& analysis, replay::MemoryId memory,
                     const replay::Segments& segments) {
  const auto held = static_cast<std::uint64_t>(analysis.account.peaks.at(memory).reserved->bytes);
  return held > segments.bytes ? held - segments.bytes : 0;
}

} // namespace

void write_segments(ProcessAnalysis& analysis, Lines& lines) {
  for (const auto& [memory, segments] : analysis.segments) {
    const replay::Peak& peak = *analysis.account.peaks.at(memory).reserved;
    const Unused unused = unused_of(segments);
    std::string text = fmt::format("{}: its allocator held {} at most, in {}", memory_name(memory),
                                   size(peak.bytes), when(analysis.phase_name(peak.path), peak.step));
    if (!segments.each.empty()) text += fmt::format(": {} in blocks", sized(segments.in_blocks));
    if (unused.sum() != 0) text += fmt::format(", unused {}", in_words(unused));
    if (segments.outside != 0)
      text += fmt::format("; {} in pages mapped one by one, for blocks of {}",
                          sized(mapped(analysis, memory, segments)), sized(segments.outside));
    lines.paragraph("", text);
    std::vector<std::pair<std::string, std::size_t>> alike;
    for (const replay::AllocatorSegment& segment : segments.each) {
      if (segment.unused() < static_cast<std::uint64_t>(peak.bytes) / 100) break;
      const std::string line = line_of(analysis, segment);
      if (!alike.empty() && alike.back().first == line) {
        ++alike.back().second;
      } else if (alike.size() == kShown) {
        break;
      } else {
        alike.emplace_back(line, 1);
      }
    }
    for (const auto& [line, number] : alike) lines.plain(fmt::format("  {:>3} x {}", number, line));
  }
}

} // namespace memtrace::report
