// Purpose: the windows beside a trace file, which have the events of later steps, by their number.
#include "analyzer/decode/window_files.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "analyzer/decode/read_error.h"
#include "analyzer/decode/segment_decoder.h"
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
  const auto model = std::make_unique<Model>(); // too large for a stack
  for (const Segment& segment : window.index->segments()) {
    if (segment.header.source != static_cast<std::uint8_t>(Source::snapshot)) continue;
    if (segment.header.first_sequence != 0) continue;
    std::vector<std::uint8_t> payload(segment.header.payload_bytes);
    payload.resize(window.file->read(segment.offset + sizeof segment.header, payload.data(), payload.size()));
    model->restart();
    Decoder decoder(payload, *model);
    format::RingRecord record{};
    if (!decoder.next(record) || record.type != static_cast<std::uint8_t>(EventType::window)) continue;
    if (const auto number = record.as<format::WindowEvent>().number; number != 0) return number;
  }
  return std::nullopt;
}

std::vector<WindowFile> find_windows(const std::string& stem, std::uint64_t trace_id) {
  std::vector<WindowFile> windows;
  for (std::uint32_t i = 0; i < format::kWindowFiles; ++i) {
    WindowFile window;
    try {
      window.file = std::make_unique<File>(stem + ".window-" + std::to_string(i), files::Origin::found);
    } catch (const ReadError&) {
      continue;
    }
    window.index = std::make_unique<SegmentIndex>(*window.file, trace_id);
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
