// Purpose: tests the packets for Perfetto: slices nest, peaks stay, and names are UTF-8.
#include <gtest/gtest.h>

#include <map>
#include <protozero/pbf_reader.hpp>

#include "analyzed.h"
#include "analyzer/export/timeline/perfetto_trace.h"

namespace memtrace::report {
namespace {

using tests::Builder;

struct ReadTrack {
  std::string name;
  int open = 0;           // slices
  std::int64_t most = 0;  // of a counter
  std::uint64_t last = 0; // time of the last event
  std::vector<std::string> slices;
};

struct ReadPacket {
  std::uint64_t time = 0;
  int type = 0;
  std::int64_t value = 0;
  std::string name;
  std::uint64_t track = 0;
  bool descriptor = false;
};

// The numbers are those of Perfetto's TracePacket, TrackEvent and TrackDescriptor.
ReadPacket read_packet(protozero::pbf_reader packet) {
  ReadPacket out;
  while (packet.next()) {
    if (packet.tag() == 8) {
      out.time = packet.get_uint64();
    } else if (packet.tag() == 60) {
      out.descriptor = true;
      for (auto track = packet.get_message(); track.next();) {
        if (track.tag() == 1)
          out.track = track.get_uint64();
        else if (track.tag() == 2)
          out.name = track.get_string();
        else
          track.skip();
      }
    } else if (packet.tag() == 11) {
      for (auto event = packet.get_message(); event.next();) {
        if (event.tag() == 9)
          out.type = event.get_enum();
        else if (event.tag() == 11)
          out.track = event.get_uint64();
        else if (event.tag() == 23)
          out.name = event.get_string();
        else if (event.tag() == 30)
          out.value = event.get_int64();
        else
          event.skip();
      }
    } else {
      packet.skip();
    }
  }
  return out;
}

std::map<std::string, ReadTrack> read_tracks(const std::string& bytes) {
  std::map<std::uint64_t, ReadTrack> tracks;
  for (protozero::pbf_reader trace(bytes); trace.next(1);) {
    const ReadPacket packet = read_packet(trace.get_message());
    ReadTrack& track = tracks[packet.track];
    if (packet.descriptor) {
      track.name = packet.name;
      continue;
    }
    EXPECT_GE(packet.time, track.last) << track.name;
    track.last = packet.time;
    if (packet.type == 1) track.slices.push_back(packet.name);
    track.open += packet.type == 1 ? 1 : packet.type == 2 ? -1 : 0;
    EXPECT_GE(track.open, 0) << track.name;
    if (packet.type == 4) track.most = std::max(track.most, packet.value);
  }
  std::map<std::string, ReadTrack> out;
  for (auto& [id, track] : tracks) {
    EXPECT_EQ(track.open, 0) << track.name;
    out[track.name] = std::move(track);
  }
  return out;
}

TEST(Perfetto, HasNestedPhasesAndThePeaks) {
  Builder builder;
  const std::uint32_t main = builder.python_frame("main", "/home/u/a.py", 3, 0);
  builder.begin("load\n\xff").birth(1 << 24, 3 << 20, format::Kind::heap, 0, main).end("load\n\xff");
  for (std::uint64_t step = 0; step < 2; ++step) {
    builder.step(step).begin("forward").birth(2 << 24, 5 << 20, format::Kind::heap, 0, main);
    builder.begin("inner").end("inner").death(2 << 24, 5 << 20).end("forward");
  }
  builder.begin("open at the end");
  const tests::Analyzed program(builder);
  std::string bytes;
  PerfettoPackets packets([&bytes](std::string_view part) { bytes += part; });
  write_perfetto(*program, {}, packets);
  std::map<std::string, ReadTrack> tracks = read_tracks(bytes);
  EXPECT_EQ(tracks["host allocated"].most, 8 << 20);
  EXPECT_EQ(tracks["host role: unknown"].most, 8 << 20);
  EXPECT_EQ(tracks["steps"].slices, (std::vector<std::string>{"step 0", "step 1"}));
  EXPECT_EQ(tracks["phases of thread 0"].slices,
            (std::vector<std::string>{"load?\xEF\xBF\xBD", "forward", "inner", "forward", "inner",
                                      "open at the end"}));
}

} // namespace
} // namespace memtrace::report
