// Purpose: writes what the recorder's encoder makes as first inputs of the fuzz targets, a folder for each
// target.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "analyzer/columns/file_columns.h"
#include "analyzer/evidence/watched_ends.h"
#include "builder.h"
#include "bytes.h"
#include "preload/format/rollup_layout.h"
#include "program.h"
#include "rings_input.h"
#include "segment_edit.h"
#include "tests/unit/sizes.h"
#include "trace_use.h"
#include "windows_input.h"

namespace memtrace::tests {
namespace {

using tests::kMiB;

RingRecord record_of(EventType type, std::uint16_t flags, std::initializer_list<std::uint64_t> words,
                     std::uint8_t kind = 0) {
  RingRecord record{};
  record.type = static_cast<std::uint8_t>(type);
  record.kind = kind;
  record.flags = flags;
  record.stamp = Builder::kStart + 1000;
  std::copy(words.begin(), words.end(), record.payload.word);
  return record;
}

std::string golden() {
  Writer writer;
  write_program(writer);
  return writer.bytes();
}

// One record of each type that a thread writes.
std::string one_of_each() {
  Builder builder;
  const std::uint32_t stack = builder.python_frame("f", "/home/u/f.py", 3, 0);
  builder.module("/opt/lib/a.so", 0x1000, 0x2000, 4, {1, 2, 3, 4});
  for (std::size_t type = 1; type < format::kEventTypes; ++type)
    builder.on(static_cast<std::uint32_t>(type % 3))
        .put(static_cast<EventType>(type), 1, 0, {1, 0x5000, 0x3000, stack, 8, 16});
  builder.on(1).remap(0x10000, 0x90000, 8192, 4096).protect(0x90000, 4096, 3).move(0x5000, 0x7000, 100, 50);
  builder.on(2).note("rings=elsewhere").parameters(8, 32, 1).fork(100, 50).sample(1, 2, 3, 4).exit(1);
  return builder.bytes(7);
}

std::string rings() {
  Builder builder;
  builder.on(1)
      .begin("forward")
      .birth(0x10000, 5000)
      .tensor(0x20000, 600)
      .death(0x10000)
      .end("forward")
      .exit(0);
  const RingSlotContent slot{
      .thread = 1, .tail = 8, .records = builder.records(1), .small = {900, 500, 20, 10}};
  return input_from_rings(ring_file({slot, slot})).value();
}

std::string windows() {
  Builder builder;
  const std::uint32_t site = builder.python_frame("build", "/home/u/model.py", 7, 0);
  const std::uint32_t forward = builder.text("forward");
  builder.step(0).begin("forward").tensor(0x1000, kMiB, site).end("forward");
  const std::size_t head = builder.records(0).size();
  builder.begin("backward").tensor_death(0x1000).death(0x2000).end("backward").step(9).exit(0);
  const std::string window =
      encode({record_of(EventType::window, 0, {format::halves(3, 6), builder.now(), format::halves(0, 1), 1}),
              record_of(EventType::level, 0, {6 * kMiB, 3 * kMiB, 0, kMiB}),
              record_of(EventType::flows, 0, {0, 5 * kMiB, 4 * kMiB, 10, 8}),
              record_of(EventType::open_phase, format::kAuto,
                        {format::halves(0, forward), format::halves(0, 6), builder.now()}),
              record_of(EventType::held, format::kTensor,
                        {0x1000, kMiB + 8, kMiB, site, format::halves(forward, 0), 5}, 1),
              record_of(EventType::displaced, 0, {0x4000, 8192, 8192, site, builder.now(), 5}, 1),
              record_of(EventType::early_death, 0, {0x5000, 8192, 0, 0, 0, builder.now()}, 1)},
             0, Source::snapshot, 0);
  const std::vector<RingRecord> after(builder.records(0).begin() + static_cast<std::ptrdiff_t>(head),
                                      builder.records(0).end());
  return builder.definitions() + builder.segment(0, 0, head) + std::string(kNext) + window +
         encode(after, 0, Source::ring, head + 500) + std::string(kNext) +
         encode(after, 0, Source::ring, head + 900);
}

// Four stretches. A quick reading leaves the second one out.
std::string stretches() {
  Builder builder;
  const std::uint32_t site = builder.python_frame("build", "/home/u/model.py", 7, 0);
  builder.begin("load").tensor(0x1000, kMiB, site).end("load");
  std::string out;
  std::size_t had = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    builder.step(i).begin("forward").tensor(0x20000, (i == 2 ? 9 : i + 1) * kMiB, site).end("forward");
    builder.begin("backward").tensor_death(0x20000).end("backward");
    if (i == 3) builder.exit(0);
    const std::size_t all = builder.records(0).size();
    out += builder.segment(0, had, all - had);
    had = all;
    if (i == 3) break;
    const std::uint64_t high = i == 2 ? 10 : i + 2;
    out += encode({record_of(EventType::level, 0, {high * kMiB, high * kMiB})}, 0, Source::keyframe, 0);
    out += encode({record_of(EventType::window, 0, {format::halves(i + 1, i + 1), builder.now(), 0, 0}),
                   record_of(EventType::level, 0, {kMiB + 8, kMiB}),
                   record_of(EventType::held, format::kTensor, {0x1000, kMiB + 8, kMiB, site, 0, 5}, 1)},
                  0, Source::keyframe, 0, Builder::kTraceId, format::kWhole);
  }
  return builder.definitions() + out;
}

// Two windows that follow the trace file, and one that follows neither.
std::string windows_in_turn() {
  Builder builder;
  for (std::uint32_t i = 0; i < 4; ++i)
    builder.step(i).begin("forward").tensor(0x1000 * (i + 1), kMiB).end("forward");
  const std::size_t part = builder.records(0).size() / 4;
  std::string out = builder.definitions() + builder.segment(0, 0, part);
  for (const std::uint32_t number : {1u, 2u, 9u}) {
    out += std::string(kNext) +
           encode({record_of(EventType::window, 0, {format::halves(number, number), builder.now(), 0, 0})}, 0,
                  Source::snapshot, 0) +
           builder.segment(0, part * (number == 9 ? 3 : number), part);
  }
  return out;
}

std::string rollup(std::uint32_t active) {
  std::string out(2, '\0');
  format::RollupHeader header{};
  header.active = active;
  header.coarsened = 77;
  append(out, header);
  append(out, format::RollupHalf{2, 4, 1, 30, 4, 2});
  for (std::uint64_t bucket = 0; bucket < 4; ++bucket) {
    format::PhaseRow row{};
    row.bucket = bucket == 3 ? format::kNoStepBucket : bucket;
    row.steps = 2;
    row.path = static_cast<std::uint32_t>(5 + bucket);
    row.memory = bucket == 2 ? format::kResident : 0;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(format::kFigures); ++i)
      row.figures[i] = {1000 + i, 50 - i};
    append(out, row);
  }
  append(out, format::SiteRow{0, 5, 1, 1, 0, format::kTensor, 0, 40, 4000, 50, 200});
  append(out, format::SiteRow{1, 6, 0, 1, 0, format::kSampled, 0, 3, 90, 20, 40});
  return out;
}

template <class Row>
std::uint32_t append_used(std::string& rows, Bytes table, std::uint32_t capacity, std::size_t most) {
  std::uint32_t used = 0;
  for (std::uint32_t i = 0; i < capacity && used < most; ++i) {
    const auto row = table.next<Row>();
    if constexpr (std::is_same_v<Row, format::PhaseRow>) {
      if (row.steps == 0) continue;
    } else {
      if (row.count == 0) continue;
    }
    append(rows, row);
    ++used;
  }
  return used;
}

// The first rows in use of a recorder's file. Nothing if `file` is not such a file.
std::optional<std::string> rollup_of(std::string_view file) {
  const auto from = [&](std::size_t at) {
    const std::string_view rest = file.substr(std::min(at, file.size()));
    return Bytes(reinterpret_cast<const std::uint8_t*>(rest.data()), rest.size());
  };
  const auto header = from(0).next<format::RollupHeader>();
  if (std::memcmp(header.magic, format::kRollupMagic, sizeof header.magic) != 0) return std::nullopt;
  const std::size_t at = format::kPage + header.active * header.half_bytes;
  auto half = from(at).next<format::RollupHalf>();
  const std::size_t phases = at + sizeof half;
  const std::size_t sites = phases + half.phase_capacity * sizeof(format::PhaseRow);
  std::string rows;
  half.phase_capacity = append_used<format::PhaseRow>(rows, from(phases), half.phase_capacity, 6);
  half.site_capacity = append_used<format::SiteRow>(rows, from(sites), half.site_capacity, 12);
  std::string out(2, '\0');
  append(out, header);
  append(out, half);
  return out + rows;
}

// The records of all segments, one after the other.
std::string definitions(const std::string& trace) {
  std::string out;
  for (const Piece& piece : pieces_of(trace)) {
    bool whole = false;
    for (const RingRecord& record : decoded(piece.bytes, whole))
      if (out.size() < 6000) append(out, record);
  }
  return out;
}

// A real trace has paths and ids of the machine that it is from: those do not belong in a corpus. What is
// long, or has a slash, gets other letters and digits; a key before '=' stays, since readers know it.
std::string without_names(std::string bytes) {
  constexpr std::size_t kLong = 12, kShort = 4;
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  for (auto at = bytes.begin(); at != bytes.end();) {
    auto end = std::find_if_not(at, bytes.end(), printable);
    const auto size = static_cast<std::size_t>(end - at);
    if (size >= kLong || (size >= kShort && std::find(at, end, '/') != end)) {
      if (const auto key = std::find(at, end, '='); key != end) at = key;
      for (; at != end; ++at) {
        if (*at >= '0' && *at <= '9') *at = '0';
        if ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z')) *at = 'x';
      }
    }
    at = end == bytes.end() ? end : end + 1;
  }
  return bytes;
}

// The first block of a trace's columns, without its start.
std::string block_of(const std::string& trace) {
  std::string out;
  std::size_t piece = 0;
  columns::to_columns(trace, [&](std::string_view bytes) {
    if (piece++ == 1) out = bytes;
  });
  return out;
}

std::string ends() {
  return evidence::line_of({"node", 4242, "node-4242-0", false, 0, false, 1795278084.5, "wait"}) +
         evidence::line_of({"node", 4243, "", true, 9, true, 1795278085, "pidfd"});
}

// The segments that come first, as many as fit.
std::string beginning(const std::string& trace) {
  constexpr std::size_t kMost = 6000;
  std::string out;
  for (const Piece& piece : pieces_of(trace)) {
    const std::string bytes = joined({piece});
    if (out.size() + bytes.size() <= kMost) out += bytes;
  }
  return out;
}

void write(const std::string& directory, const std::string& target, const std::string& name,
           const std::string& bytes) {
  std::filesystem::create_directories(directory + "/" + target);
  std::ofstream(directory + "/" + target + "/" + name, std::ios::binary) << bytes;
}

} // namespace
} // namespace memtrace::tests

int main(int argc, char** argv) {
  using namespace memtrace::tests;
  if (argc < 2) {
    std::fprintf(stderr, "usage: fuzz_seeds DIRECTORY [FILE...]\n");
    return 2;
  }
  const std::string to = argv[1];
  write(to, "segments", "golden", golden());
  write(to, "segments", "plain", plain_trace());
  write(to, "segments", "each", one_of_each());
  write(to, "segments", "stretches", stretches());
  write(to, "columns", "golden", golden());
  write(to, "columns", "each", one_of_each());
  write(to, "columns", "stretches", stretches());
  write(to, "columns", "block", block_of(golden()));
  write(to, "columns", "block-each", block_of(one_of_each()));
  write(to, "rings", "two", rings());
  write(to, "windows", "gap", windows());
  write(to, "windows", "stretches", stretches());
  write(to, "windows", "turn", windows_in_turn());
  write(to, "rollup", "first", rollup(0));
  write(to, "rollup", "second", rollup(1));
  write(to, "definitions", "golden", definitions(golden()));
  write(to, "definitions", "each", definitions(one_of_each()));
  write(to, "ends", "two", ends());
  for (int i = 2; i < argc; ++i) {
    const std::string file = read_file(argv[i]), name = "real" + std::to_string(i);
    if (const auto input = input_from_rings(file)) {
      write(to, "rings", name, *input);
      continue;
    }
    if (const auto input = rollup_of(file)) {
      write(to, "rollup", name, *input);
      continue;
    }
    write(to, "segments", name, without_names(beginning(file)));
    write(to, "definitions", name, without_names(definitions(file)));
  }
  return 0;
}
