// Purpose: chooses the stretches of a trace that --quick reads, by the headers of the segments and the highest
// levels that each stretch ends with.
#include "analyzer/decode/quick_reading.h"

#include <array>
#include <map>
#include <utility>

#include "analyzer/decode/lone_segment.h"
#include "preload/format/window_events.h"

namespace memtrace::trace {
namespace {

using format::EventType;
using format::Source;

ReadExtent extent = ReadExtent::all;

constexpr std::size_t kMeasures = 3;                                          // live, tensor, reserved
using Highest = std::map<std::uint32_t, std::array<std::int64_t, kMeasures>>; // by memory

struct Stretch {
  std::size_t file = 0;
  std::size_t from = 0, to = 0; // segments of the file
  Highest highest;
  bool ended = false; // `highest` has the levels of all its events
};

bool is_keyframe(const Segment& segment) {
  return segment.header.source == static_cast<std::uint8_t>(Source::keyframe);
}

// Reads the levels with which a stretch ends.
void add_highest(const File& file, const Segment& segment, Highest& highest) {
  constexpr std::size_t kMost = 64; // one for each memory
  for (const format::RingRecord& record : records_of(file, segment, kMost)) {
    if (record.type != static_cast<std::uint8_t>(EventType::level)) continue;
    const auto level = record.as<format::LevelEvent>();
    auto& levels = highest[record.flags >> format::kMemoryShift];
    const std::int64_t said[kMeasures] = {level.live, level.tensor, level.reserved};
    for (std::size_t i = 0; i < kMeasures; ++i) levels[i] = std::max(levels[i], said[i]);
  }
}

// True if a whole keyframe begins at segment `at`: its last segment says so.
bool begins_whole(const std::vector<Segment>& segments, std::size_t at) {
  std::uint64_t sequence = 0;
  for (; at < segments.size() && is_keyframe(segments[at]); ++at) {
    const format::SegmentHeader& header = segments[at].header;
    if (header.first_sequence != sequence || header.records == 0) return false;
    if ((header.flags & format::kWhole) != 0) return true;
    sequence += header.records;
  }
  return false;
}

void add_stretches(std::size_t number, const ListedFile& file, std::vector<Stretch>& out) {
  const std::vector<Segment>& segments = file.index->segments();
  out.push_back({number, 0, segments.size(), {}, false});
  if (file.index->damaged_inside()) return; // what is damaged may be a keyframe, or highest levels
  for (std::size_t i = 0; i < segments.size(); ++i) {
    // If the next window could not begin, a stretch goes on after its end, and is not ended then.
    if (segments[i].header.source == static_cast<std::uint8_t>(Source::ring)) out.back().ended = false;
    if (!is_keyframe(segments[i])) continue;
    if (has_type(segments[i].header, EventType::window)) {
      if (!begins_whole(segments, i)) continue;
      out.back().to = i;
      out.push_back({number, i, segments.size(), {}, false});
    } else if (segments[i].header.types == std::uint64_t{1} << static_cast<unsigned>(EventType::level)) {
      add_highest(*file.file, segments[i], out.back().highest);
      out.back().ended = true;
    }
  }
}

// Returns the stretches to read. Of equal ones, the first is read.
std::vector<bool> wanted(const std::vector<Stretch>& stretches) {
  std::vector<bool> out(stretches.size());
  std::map<std::pair<std::uint32_t, std::size_t>, std::pair<std::int64_t, std::size_t>> best;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    if (!stretches[i].ended) out[i] = true;
    for (const auto& [memory, levels] : stretches[i].highest) {
      for (std::size_t measure = 0; measure < kMeasures; ++measure) {
        const auto [at, fresh] = best.try_emplace({memory, measure}, levels[measure], i);
        if (!fresh && levels[measure] > at->second.first) at->second = {levels[measure], i};
      }
    }
  }
  for (const auto& [key, level] : best)
    if (level.first > 0) out[level.second] = true;
  out.front() = out.back() = true;
  return out;
}

} // namespace

ReadExtent extent_of_command() {
  return extent;
}
void set_extent_of_command(ReadExtent wanted) {
  extent = wanted;
}

LeftOut choose_quickly(const std::vector<ListedFile>& files) {
  std::vector<Stretch> stretches;
  for (std::size_t i = 0; i < files.size(); ++i) add_stretches(i, files[i], stretches);
  LeftOut out;
  out.segments.resize(files.size());
  const std::vector<bool> read = wanted(stretches);
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    if (read[i]) continue;
    const Stretch& stretch = stretches[i];
    const std::vector<Segment>& segments = files[stretch.file].index->segments();
    std::vector<bool>& left_out = out.segments[stretch.file];
    left_out.resize(segments.size());
    for (std::size_t at = stretch.from; at < stretch.to; ++at) {
      const auto source = static_cast<Source>(segments[at].header.source);
      left_out[at] = is_of_stretch(source);
      if (source == Source::ring) out.records += segments[at].header.records;
    }
  }
  return out;
}

} // namespace memtrace::trace
