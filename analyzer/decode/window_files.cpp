// Purpose: the windows beside a trace file, which have the events of later steps, by their number.
#include "analyzer/decode/window_files.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "analyzer/decode/lone_segment.h"
#include "analyzer/decode/read_error.h"
#include "preload/format/window_events.h"

namespace memtrace::trace {
namespace {

using format::EventType;
using format::Source;

} // namespace

std::string stem_of(const std::string& trace_path) {
  constexpr std::string_view kSuffix = ".memtrace";
  const bool named = trace_path.ends_with(kSuffix);
  return trace_path.substr(0, trace_path.size() - (named ? kSuffix.size() : 0));
}

// The number is in the first record of the snapshot. 0 is the number of the trace file, so no window has it.
std::optional<std::uint32_t> number_of(const WindowFile& window) {
  for (const Segment& segment : window.index->segments()) {
    if (segment.header.source != static_cast<std::uint8_t>(Source::snapshot)) continue;
    if (segment.header.first_sequence != 0) continue;
    const std::vector<format::RingRecord> first = records_of(*window.file, segment, 1);
    if (first.empty() || first[0].type != static_cast<std::uint8_t>(EventType::window)) continue;
    if (const auto number = first[0].as<format::WindowEvent>().number; number != 0) return number;
  }
  return std::nullopt;
}

std::vector<WindowFile> find_windows(const std::string& stem, std::uint64_t trace_id, Verify verify) {
  std::vector<WindowFile> windows;
  for (std::uint32_t i = 0; i < format::kWindowFiles; ++i) {
    WindowFile window;
    try {
      window.file = std::make_unique<File>(stem + ".window-" + std::to_string(i), files::Origin::found);
    } catch (const ReadError&) {
      continue;
    }
    window.index = std::make_unique<SegmentIndex>(*window.file, trace_id, verify);
    window.number = number_of(window);
    windows.push_back(std::move(window));
  }
  std::stable_sort(windows.begin(), windows.end(), [](const WindowFile& a, const WindowFile& b) {
    if (a.number && b.number) return *a.number < *b.number;
    return a.number.has_value() && !b.number.has_value();
  });
  return windows;
}

} // namespace memtrace::trace
