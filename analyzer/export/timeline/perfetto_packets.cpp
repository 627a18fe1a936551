// Purpose: writes the packets of a trace of Perfetto.
#include "analyzer/export/timeline/perfetto_packets.h"

#include <algorithm>
#include <protozero/pbf_writer.hpp>

#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

// The fields of the messages, by the numbers in Perfetto's protos/perfetto/trace.
namespace perfetto_field {
using Tag = protozero::pbf_tag_type;
constexpr Tag kPacket = 1;
constexpr Tag kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kTrackDescriptor = 60;
constexpr Tag kEventType = 9, kEventTrack = 11, kEventName = 23, kEventCounter = 30, kEventAnnotation = 4;
constexpr Tag kAnnotationText = 6, kAnnotationName = 10;
constexpr Tag kTrackId = 1, kTrackName = 2, kTrackProcess = 3, kTrackParent = 5, kTrackCounter = 8;
constexpr Tag kProcessPid = 1, kProcessCommand = 2, kProcessName = 6;
constexpr Tag kCounterUnit = 3;
} // namespace perfetto_field

constexpr int kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounter = 4; // TrackEvent.Type
constexpr int kBytes = 3;                                                 // CounterDescriptor.Unit
constexpr std::uint32_t kOurSequence = 1;
constexpr std::uint32_t kOtherPid = 10'000'000; // above every pid of Linux

} // namespace

template <class Fill>
void PerfettoPackets::packet(Fill fill) {
  std::string bytes;
  protozero::pbf_writer trace(bytes);
  {
    protozero::pbf_writer packet(trace, perfetto_field::kPacket);
    packet.add_uint32(perfetto_field::kSequence, kOurSequence);
    fill(packet);
  }
  take_(bytes);
}

template <class Fill>
void PerfettoPackets::event(std::uint64_t time, int type, TrackId track, Fill fill) {
  packet([&](protozero::pbf_writer& packet) {
    packet.add_uint64(perfetto_field::kTimestamp, time);
    protozero::pbf_writer event(packet, perfetto_field::kTrackEvent);
    event.add_enum(perfetto_field::kEventType, type);
    event.add_uint64(perfetto_field::kEventTrack, static_cast<std::uint64_t>(track));
    fill(event);
  });
}

template <class Fill>
TrackId PerfettoPackets::descriptor(Fill fill) {
  const std::uint64_t id = ++tracks_;
  packet([&](protozero::pbf_writer& packet) {
    protozero::pbf_writer track(packet, perfetto_field::kTrackDescriptor);
    track.add_uint64(perfetto_field::kTrackId, id);
    fill(track);
  });
  return TrackId{id};
}

TrackId PerfettoPackets::process(std::uint32_t pid, const std::string& name,
                                 const std::vector<std::string>& command) {
  while (std::find(pids_.begin(), pids_.end(), pid) != pids_.end()) pid += kOtherPid;
  pids_.push_back(pid);
  return descriptor([&](protozero::pbf_writer& track) {
    protozero::pbf_writer process(track, perfetto_field::kTrackProcess);
    process.add_int32(perfetto_field::kProcessPid, static_cast<std::int32_t>(pid));
    for (const std::string& word : command)
      process.add_string(perfetto_field::kProcessCommand, printable(word));
    process.add_string(perfetto_field::kProcessName, printable(name));
  });
}

TrackId PerfettoPackets::track(TrackId process, const std::string& name) {
  return descriptor([&](protozero::pbf_writer& track) {
    track.add_uint64(perfetto_field::kTrackParent, static_cast<std::uint64_t>(process));
    track.add_string(perfetto_field::kTrackName, printable(name));
  });
}

TrackId PerfettoPackets::bytes_counter(TrackId process, const std::string& name) {
  return descriptor([&](protozero::pbf_writer& track) {
    track.add_uint64(perfetto_field::kTrackParent, static_cast<std::uint64_t>(process));
    track.add_string(perfetto_field::kTrackName, printable(name));
    protozero::pbf_writer counter(track, perfetto_field::kTrackCounter);
    counter.add_enum(perfetto_field::kCounterUnit, kBytes);
  });
}

void PerfettoPackets::begin(TrackId track, std::uint64_t time, const std::string& name) {
  event(time, kSliceBegin, track,
        [&](protozero::pbf_writer& event) { event.add_string(perfetto_field::kEventName, printable(name)); });
}

void PerfettoPackets::end(TrackId track, std::uint64_t time) {
  event(time, kSliceEnd, track, [](protozero::pbf_writer&) {});
}

void PerfettoPackets::instant(TrackId track, std::uint64_t time, const std::string& name,
                              const Details& details) {
  event(time, kInstant, track, [&](protozero::pbf_writer& event) {
    event.add_string(perfetto_field::kEventName, printable(name));
    for (const auto& [key, text] : details) {
      protozero::pbf_writer annotation(event, perfetto_field::kEventAnnotation);
      annotation.add_string(perfetto_field::kAnnotationName, key);
      annotation.add_string(perfetto_field::kAnnotationText, printable(text));
    }
  });
}

void PerfettoPackets::count(TrackId counter, std::uint64_t time, std::int64_t bytes) {
  event(time, kCounter, counter,
        [&](protozero::pbf_writer& event) { event.add_int64(perfetto_field::kEventCounter, bytes); });
}

} // namespace memtrace::report
