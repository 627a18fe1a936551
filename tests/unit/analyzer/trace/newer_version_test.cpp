// Purpose: parts of a trace of a newer version are left out and named; parts of known versions are read.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "analyzer/wording/newer_parts.h"
#include "folder.h"
#include "preload/format/crc32c.h"
#include "trace/read_files.h"

namespace memtrace::trace {
namespace {

using format::EventType;
using format::halves;
using tests::Builder;
using tests::record_of;

constexpr std::uint16_t kNewer = format::kVersion + 1;
const std::string kNewerText = "trace version " + std::to_string(kNewer);
const std::string kExpected =
    ": at byte 4: expected trace version " + std::to_string(format::kVersion) + ", found ";

void renew_checksum(std::string& segment) {
  format::SegmentHeader header;
  std::memcpy(&header, segment.data(), sizeof header);
  header.checksum = 0;
  header.checksum = format::checksum(format::checksum(0, &header, sizeof header),
                                     segment.data() + sizeof header, segment.size() - sizeof header);
  std::memcpy(segment.data(), &header, sizeof header);
}

// Returns the segment as a memtrace of another version would write it. Its payload is as unreadable as that of
// a new coding.
std::string as_version(std::uint16_t version, std::string segment) {
  std::memcpy(segment.data() + offsetof(format::SegmentHeader, version), &version, sizeof version);
  std::fill(segment.begin() + sizeof(format::SegmentHeader), segment.end(), '\xA5');
  renew_checksum(segment);
  return segment;
}

std::string written_by(const std::string& text, std::uint16_t version = kNewer) {
  std::string segment = tests::encode({}, 0, format::Source::writer, 0) + text;
  const auto bytes = static_cast<std::uint32_t>(text.size());
  std::memcpy(segment.data() + offsetof(format::SegmentHeader, version), &version, sizeof version);
  std::memcpy(segment.data() + offsetof(format::SegmentHeader, payload_bytes), &bytes, sizeof bytes);
  renew_checksum(segment);
  return segment;
}

// Sets the version of a ring file or a rollup, and the digit of its magic.
std::string as_file_of_version(std::uint16_t version, std::string file) {
  ++file[format::kFamily];
  std::memcpy(file.data() + offsetof(format::RingFileHeader, version), &version, sizeof version);
  return file;
}
static_assert(offsetof(format::RingFileHeader, version) == offsetof(format::RollupHeader, version));
static_assert(offsetof(format::RingFileHeader, trace_id) == offsetof(format::RollupHeader, trace_id));

class NewerVersion : public Files {
 protected:
  static std::string line(const Trace& trace) { return report::newer_parts_line(trace.newer()); }
};

TEST_F(NewerVersion, SegmentsOfItAreLeftOutAndThoseAroundThemRead) {
  Builder builder = births(12);
  const std::string newer = as_version(kNewer, builder.segment(0, 4, 4));
  write(written_by("0.3.0") + builder.definitions() + builder.segment(0, 0, 4) + newer +
        builder.segment(0, 8, 4));
  const Read out = read(path());
  EXPECT_EQ(addresses(out.events), (std::vector<std::uint64_t>{0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_EQ(out.losses.damaged_bytes, 0u);
  EXPECT_EQ(out.losses.events, (std::map<std::string, std::uint64_t>{{"gap", 4}}));
  const Trace trace(path());
  EXPECT_EQ(trace.newer().version, kNewer);
  EXPECT_EQ(trace.newer().segments, 1u);
  EXPECT_EQ(trace.newer().all, 4u);
  EXPECT_EQ(trace.newer().bytes, newer.size());
  EXPECT_EQ(
      line(trace),
      "1 of 4 segments (0.00 MiB) is of " + kNewerText +
          " (written by memtrace 0.3.0), which this version does not read; install memtrace 0.3.0 or later");
}

TEST_F(NewerVersion, ATraceOfKnownVersionsHasNoLine) {
  write(written_by("0.2.0", format::kVersion) + births(3).bytes());
  const Trace trace(path());
  EXPECT_EQ(trace.writer(), "0.2.0");
  EXPECT_EQ(trace.newer().version, 0);
  EXPECT_EQ(line(trace), "");
  EXPECT_EQ(read(path()).losses.total(), 0u);
}

TEST_F(NewerVersion, ATraceOfItAloneIsRefused) {
  const std::string all =
      as_version(kNewer, births(3).definitions()) + as_version(kNewer + 1, births(3).segment(0, 0, 3));
  EXPECT_EQ(fault(written_by("0.3.0") + all),
            path() + kExpected + std::to_string(kNewer + 1) +
                ", written by memtrace 0.3.0; install memtrace 0.3.0 or later");
  EXPECT_EQ(fault(all), path() + kExpected + std::to_string(kNewer + 1) +
                            " of a newer memtrace; install that version or later");
}

TEST_F(NewerVersion, ATextThatIsNoVersionIsNotPrinted) {
  const std::string all = as_version(kNewer, births(3).definitions());
  for (const std::string text : {"\x1b[31m0.3", "0.3 or run this", "", "1234567890.1234567890.1234567890.1"})
    EXPECT_NE(fault(written_by(text) + all).find(std::to_string(kNewer) + " of a newer memtrace;"),
              std::string::npos)
        << text;
}

TEST_F(NewerVersion, AnOlderVersionThanTheOldestIsRefused) {
  const std::string old = as_version(format::kOldestVersion - 1, births(3).definitions());
  EXPECT_EQ(fault(old), path() + kExpected + std::to_string(format::kOldestVersion - 1));
}

TEST_F(NewerVersion, ATraceWithoutRecordsIsRefused) {
  EXPECT_NE(fault(written_by("0.1.0", format::kVersion)).find("its process ended while it opened"),
            std::string::npos);
}

TEST_F(NewerVersion, ADamagedSegmentOfItIsDamage) {
  Builder builder = births(8);
  std::string newer = as_version(kNewer, builder.segment(0, 4, 4));
  newer.back() ^= 1;
  write(builder.definitions() + builder.segment(0, 0, 4) + newer);
  EXPECT_EQ(read(path()).losses.damaged_bytes, newer.size());
  EXPECT_EQ(line(Trace(path())), "");
}

TEST_F(NewerVersion, RingsOfItAreLeftOut) {
  Builder builder = births(8);
  write(written_by("0.3.0") + builder.definitions() + builder.segment(0, 0, 4));
  const std::string known =
      tests::ring_file({{0, 4, {builder.records(0).begin() + 4, builder.records(0).end()}, {}}});
  tests::write_file(rings(), known);
  EXPECT_EQ(read(path()).events.size(), 8u);
  tests::write_file(rings(), as_file_of_version(kNewer, known));
  const Read out = read(path());
  EXPECT_EQ(out.events.size(), 4u);
  EXPECT_EQ(out.losses.damaged_bytes, 0u);
  EXPECT_EQ(line(Trace(path())).find("the ring file is of " + kNewerText + " (written by memtrace 0.3.0), "),
            0u);
  tests::write_file(rings(), as_file_of_version(kNewer, tests::ring_file({}, {}, Builder::kTraceId + 1)));
  EXPECT_EQ(line(Trace(path())), "") << "rings of another trace";
}

TEST_F(NewerVersion, RowsOfItAreLeftOut) {
  format::RollupHalf half{};
  half.phase_width = half.site_width = 1;
  write(births(4).bytes());
  const std::string rows = scratch_.file("t.coarse");
  tests::write_file(rows, tests::rollup_file(half, {}, {}));
  EXPECT_NE(Trace(path()).rollup(), nullptr);
  tests::write_file(rows, as_file_of_version(kNewer, tests::rollup_file(half, {}, {})));
  EXPECT_EQ(Trace(path()).rollup(), nullptr);
  EXPECT_EQ(read(path()).losses.damaged_bytes, 0u);
  EXPECT_EQ(line(Trace(path())),
            "the rows of dropped steps are of " + kNewerText +
                " of a newer memtrace, which this version does not read; install that version or later");
}

TEST_F(NewerVersion, WindowsOfItAreLeftOut) {
  Builder builder = births(12);
  write(builder.definitions() + builder.segment(0, 0, 4));
  const auto snapshot = [](std::uint32_t number) {
    return tests::snapshot({record_of(EventType::window, 0, 0, {halves(number, 0)})});
  };
  tests::write_file(scratch_.file("t.window-0"),
                    as_version(kNewer, snapshot(1)) + as_version(kNewer, builder.segment(0, 4, 4)));
  tests::write_file(scratch_.file("t.window-1"), snapshot(2) + builder.segment(0, 8, 4));
  const Read out = read(path());
  EXPECT_EQ(addresses(out.events), (std::vector<std::uint64_t>{0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_EQ(out.losses.damaged_bytes, 0u);
  EXPECT_EQ(line(Trace(path())).substr(0, 30), "2 of 6 segments (0.00 MiB) are");
}

using NewerVersionReport = tests::Folder;

TEST_F(NewerVersionReport, SaysWhatWasNotRead) {
  Builder builder = births(8);
  const std::string newer = as_version(kNewer, builder.segment(0, 4, 4));
  write(".memtrace", written_by("0.3.0") + builder.definitions() + builder.segment(0, 0, 4) + newer);
  const report::Json trace = process()["trace"];
  EXPECT_EQ(trace["written_by"], "0.3.0");
  EXPECT_EQ(trace["newer"], (report::Json{{"version", kNewer},
                                          {"segments", 1},
                                          {"of_segments", 3},
                                          {"bytes", newer.size()},
                                          {"rings", false},
                                          {"rows", false}}));
  look.all = true;
  EXPECT_NE(text().find("; not read: 1 of 3 segments (0.00 MiB) is of " + kNewerText), std::string::npos)
      << text();
  write(".memtrace", builder.bytes());
  EXPECT_EQ(process()["trace"]["newer"], nullptr);
  EXPECT_EQ(process()["trace"]["written_by"], nullptr);
}

} // namespace
} // namespace memtrace::trace
