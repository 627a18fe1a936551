// Purpose: the traces of each version read as they did, and those of this version are written as they were.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "layout.h"
#include "long_run.h"
#include "program.h"
#include "report.h"

namespace memtrace::tests {
namespace {

constexpr const char* kChanged =
    "the format has changed: raise kVersion and write a golden trace of the new version, see "
    "tests/golden/README.md";

// Returns the path of a golden file of a version.
std::string golden(const std::string& name, unsigned version = format::kVersion) {
  return MEMTRACE_GOLDEN "/v" + std::to_string(version) + "/" + name;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Json report() {
  return pruned_report(golden("train.memtrace"));
}

std::int64_t peak(const Json& process, const std::string& memory, const std::string& measure) {
  for (const Json& entry : process["peaks"])
    if (entry["memory"] == memory && entry["measure"] == measure) return entry["bytes"];
  ADD_FAILURE() << "no peak of " << memory << " " << measure;
  return -1;
}

TEST(Golden, EachVersionHasAFolder) {
  std::size_t folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(MEMTRACE_GOLDEN))
    folders += entry.is_directory() ? 1 : 0;
  EXPECT_EQ(folders, format::kVersion - format::kOldestVersion + 1u)
      << "v" << format::kOldestVersion << " to v" << format::kVersion << ": see tests/golden/README.md";
}

TEST(Golden, IsWrittenAsItWas) {
  Writer writer;
  write_program(writer);
  EXPECT_TRUE(writer.bytes() == bytes_of(golden("train.memtrace"))) << kChanged;
}

TEST(Golden, ALongRunIsWrittenAsItWas) {
  for (const auto& [suffix, bytes] : long_run())
    EXPECT_TRUE(bytes == bytes_of(golden("long" + suffix))) << suffix << ": " << kChanged;
}

TEST(Golden, TheLayoutIsAsItWas) {
  EXPECT_EQ(layout(), bytes_of(golden("layout.txt"))) << kChanged;
}

class EachVersion : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Golden, EachVersion,
                         testing::Range<unsigned>(format::kOldestVersion, format::kVersion + 1));

TEST_P(EachVersion, IsInItsSegments) {
  const std::string bytes = bytes_of(golden("train.memtrace", GetParam()));
  std::size_t segments = 0;
  for (std::size_t at = 0; at < bytes.size(); ++segments) {
    format::SegmentHeader header;
    ASSERT_LE(at + sizeof header, bytes.size());
    std::memcpy(&header, bytes.data() + at, sizeof header);
    ASSERT_EQ(std::memcmp(header.magic, format::kSegmentMagic, sizeof header.magic), 0) << "at " << at;
    EXPECT_EQ(header.version, GetParam());
    at += sizeof header + header.payload_bytes;
  }
  EXPECT_GT(segments, 10u) << "there is no golden trace of version " << GetParam();
}

TEST_P(EachVersion, IsReadAsItWas) {
  for (const std::string name : {"train", "long"}) {
    const std::string expected = bytes_of(golden(name + ".json", GetParam()));
    ASSERT_NE(expected, "") << "there is no golden report of version " << GetParam();
    EXPECT_EQ(differences(Json::parse(expected), pruned_report(golden(name + ".memtrace", GetParam()))), "")
        << name << ": see tests/golden/README.md";
  }
}

// The types of a segment's records are bits of its header.
std::uint64_t types_of(const std::string& bytes) {
  std::uint64_t types = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    format::SegmentHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    types |= header.types;
    at += sizeof header + header.payload_bytes;
  }
  return types;
}

TEST(Golden, HasEveryTypeOfEvent) {
  std::uint64_t types = types_of(bytes_of(golden("train.memtrace")));
  for (const char* file : {"long.memtrace", "long.window-2"}) types |= types_of(bytes_of(golden(file)));
  for (std::size_t i = 1; i < format::kEventTypes; ++i)
    EXPECT_TRUE(types >> i & 1) << format::kEventNames[i] << ": put it into program.cpp or long_run.cpp";
}

// Figures that the writer counted itself, or that follow from program.cpp by hand.
TEST(Golden, LevelsAreTheProgramsOwn) {
  Writer writer;
  write_program(writer);
  const Json process = report()["processes"][0];
  EXPECT_EQ(peak(process, "host", "live"), writer.live[0].peak);
  EXPECT_EQ(peak(process, "host", "tensor"), writer.tensor[0].peak);
  EXPECT_EQ(peak(process, "cuda:0", "live"), writer.live[1].peak);
  EXPECT_EQ(peak(process, "cuda:0", "tensor"), writer.tensor[1].peak);
  // 8 parameters, 3 gradients, 16 states and 8 temporaries of 4 MiB, and a batch of 1 MiB.
  EXPECT_EQ(peak(process, "host", "tensor"), (8 + 3 + 16 + 8) * (4 << 20) + (1 << 20));
  EXPECT_EQ(process["trace"]["lost_events"], 0);
  EXPECT_EQ(process["end"]["how"], "exit");
  EXPECT_EQ(process["parameters"]["count"], 8 << 20);
  EXPECT_EQ(process["kind"], "main");
}

// By hand, from long_run.cpp: 40 MiB of tensors inherited, 64 that load made and 16 of the last batch; beside
// them 60 inherited, a mapping of 32 and 2 of small blocks. The window that had 500 records is gone.
TEST(Golden, LevelsOfTheLongRunAddUp) {
  const Json process = pruned_report(golden("long.memtrace"))["processes"][0];
  EXPECT_EQ(peak(process, "host", "tensor"), (40 + 64 + 16) * (1 << 20));
  EXPECT_EQ(peak(process, "host", "live"), (100 + 64 + 32 + 2 + 16) * (1 << 20));
  EXPECT_EQ(process["kind"], "worker");
  EXPECT_EQ(process["trace"]["lost_events"], 0);
  EXPECT_EQ(process["trace"]["coarsened_events"], 500);
}

TEST(Golden, PhasesAddUp) {
  const Json process = report()["processes"][0];
  std::int64_t first_step = -1, load = -1;
  for (const Json& row : process["phases"]) {
    if (row["memory"] != "host") continue;
    if (row["phase"] == "load") load = row["tensor"]["net"];
    if (row["phase"] == "step" && row["step"] == 0) first_step = row["tensor"]["net"];
  }
  EXPECT_EQ(load, 8 * (4 << 20));
  EXPECT_EQ(first_step, 16 * (4 << 20)) << "the optimizer's states stay";
}

TEST(Golden, NamesNoMachine) {
  const std::string bytes = bytes_of(golden("train.memtrace"));
  EXPECT_LT(bytes.size(), 60'000u);
  EXPECT_NE(bytes.find("/home/user"), std::string::npos);
  EXPECT_EQ(bytes.find(MEMTRACE_GOLDEN), std::string::npos);
}

TEST(Differences, AreSeen) {
  const Json expected = {{"a", 1}, {"b", {1, 2}}, {"c", {{"d", nullptr}}}};
  Json got = expected;
  got["added"] = 5;
  EXPECT_EQ(differences(expected, got), "");
  got["b"].push_back(3);
  EXPECT_NE(differences(expected, got), "");
  got = expected;
  got["c"].erase("d");
  EXPECT_EQ(differences(expected, got), "/c/d is missing\n");
  got = expected;
  got["a"] = 2;
  EXPECT_EQ(differences(expected, got), "/a: expected 1, got 2\n");
}

} // namespace
} // namespace memtrace::tests
