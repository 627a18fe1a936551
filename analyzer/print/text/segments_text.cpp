// Purpose: writes the segments of a device's allocator as text.
#include "analyzer/print/text/segments_text.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "analyzer/explain/segment_use.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/text_table.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

constexpr std::size_t kShown = 5; // rows; similar segments share a row

// Returns the cells of a row, without the number of segments.
std::vector<std::string> cells_of(ProcessAnalysis& analysis, const replay::AllocatorSegment& segment,
                                  const Unit& unit) {
  const auto figure = [&unit](std::uint64_t bytes) { return in_unit(static_cast<std::int64_t>(bytes), unit); };
  if (segment.blocks == 0) return {figure(segment.unused()), figure(segment.bytes), "", "", "empty"};
  return {
      figure(segment.unused()), figure(segment.bytes), count(segment.blocks),
      when(printable(analysis.account.paths.text(segment.holder_phase)), segment.holder_step),
      segment.holder == format::StackId{} ? "-" : printable(analysis.symbolizer->site(segment.holder).title())};
}

// Writes the segments with the most unused bytes.
void write_table(ProcessAnalysis& analysis, const replay::Segments& segments, std::uint64_t held,
                 Lines& lines) {
  const Unit unit =
      unit_for(segments.each.empty() ? 0 : static_cast<std::int64_t>(segments.each.front().bytes));
  std::vector<std::pair<std::vector<std::string>, std::size_t>> alike;
  for (const replay::AllocatorSegment& segment : segments.each) {
    if (segment.unused() < held / 100) break;
    std::vector<std::string> cells = cells_of(analysis, segment, unit);
    if (!alike.empty() && alike.back().first == cells) {
      ++alike.back().second;
    } else if (alike.size() == kShown) {
      break;
    } else {
      alike.emplace_back(std::move(cells), 1);
    }
  }
  if (alike.empty()) return;
  Table table(2, {Column::number("segments", 8), Column::number("unused", 9),
                  Column::number(fmt::format("of {}", unit.name), 9), Column::extra("blocks", 6),
                  Column::text("since", 0, 16), Column::source_line("site of most bytes")});
  for (auto& [cells, number] : alike) {
    cells.insert(cells.begin(), count(number));
    table.row(std::move(cells));
  }
  table.write(lines);
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
    std::string text = fmt::format("{}: its allocator held {} at most, {}", memory_name(memory),
                                   size(peak.bytes), analysis.place(peak.path, peak.step));
    if (!segments.each.empty()) text += fmt::format(": {} in blocks", sized(segments.in_blocks));
    if (unused.sum() != 0) text += fmt::format(", unused {}", in_words(unused));
    if (segments.outside != 0)
      text += fmt::format("; {} in pages mapped one by one, for blocks of {}",
                          sized(mapped(analysis, memory, segments)), sized(segments.outside));
    lines.paragraph("", text);
    write_table(analysis, segments, static_cast<std::uint64_t>(peak.bytes), lines);
  }
}

} // namespace memtrace::report
