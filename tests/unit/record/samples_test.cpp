// Room: tests.
// Job: what the kernel says of this process, against the kernel.
#include "record/samples.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "child.h"
#include "reading.h"
#include "record/stamp.h"

namespace memtrace::record {
namespace {

using format::EventType;
using format::RingRecord;
using tests::in_child;
using tests::Scratch;

constexpr std::uint64_t kMiB = 1 << 20;

std::uint64_t status(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key + ":")) return std::stoull(line.substr(key.size() + 1)) * 1024;
  return 0;
}

// What the kernel has in a file of one number; all ones when it is "max" or, in v1, the largest there is.
std::uint64_t limit_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = ~std::uint64_t{0};
  file >> value;
  return file.fail() || value >= 0x7FFFFFFFFFFFF000 ? ~std::uint64_t{0} : value;
}

void expect_near(std::uint64_t got, std::uint64_t expected, std::uint64_t by, const char* what) {
  EXPECT_LE(got, expected + by) << what;
  EXPECT_GE(got + by, expected) << what;
}

TEST(Samples, ProcessAsInProc) {
  const Scratch scratch;
  in_child([&] {
    tests::open_files(scratch);
    std::vector<char> touched(20 * kMiB, 1);
    sample_now();
    touched.clear();
    touched.shrink_to_fit();
    sample_now();
    const auto samples = all_of(tests::read_segments(scratch.file("t.memtrace")), EventType::sample_process);
    ASSERT_EQ(samples.size(), 2u);
    EXPECT_GT(samples[0].word[0], samples[1].word[0] + 15 * kMiB) << "anon falls";
    expect_near(samples[1].word[0], status("RssAnon"), 2 * kMiB, "anon");
    expect_near(samples[1].word[1], status("RssFile"), 2 * kMiB, "file");
    expect_near(samples[1].word[2], status("RssShmem"), 2 * kMiB, "shmem");
    expect_near(samples[1].word[3], status("VmHWM"), 2 * kMiB, "high water");
    expect_near(samples[1].word[5], status("VmPTE"), kMiB, "page tables");
    EXPECT_GE(samples[1].word[3], samples[0].word[0]);
    EXPECT_GT(samples[1].stamp, samples[0].stamp);
  });
}

TEST(Samples, GroupsAsInSysfs) {
  const Scratch scratch;
  in_child([&] {
    tests::open_files(scratch);
    sample_now();
    sample_now();
    const auto segments = tests::read_segments(scratch.file("t.memtrace"));
    const auto samples = all_of(segments, EventType::sample_cgroup);
    if (samples.empty()) GTEST_SKIP() << "no memory cgroup can be read here";
    const auto texts = tests::texts_of(segments);
    EXPECT_EQ(samples.size() % 2, 0u) << "both samples have the same levels";
    EXPECT_EQ(texts.size(), samples.size() / 2) << "named once";
    std::string below;
    for (std::size_t i = 0; i < samples.size() / 2; ++i) {
      const RingRecord& sample = samples[i];
      EXPECT_EQ(sample.flags & 0xFF, i) << "its own first, then the ancestors";
      const std::string path = texts.at(format::low(sample.word[0]));
      ASSERT_TRUE(std::filesystem::is_directory(path)) << path;
      EXPECT_TRUE(below.empty() || (below.starts_with(path) && below.size() > path.size())) << path;
      const bool two = std::filesystem::exists(path + "/memory.current");
      EXPECT_TRUE(two || std::filesystem::exists(path + "/memory.usage_in_bytes")) << path;
      EXPECT_GT(sample.word[1], 0u);
      EXPECT_EQ(sample.word[2] >= 0x7FFFFFFFFFFFF000 ? ~std::uint64_t{0} : sample.word[2],
                limit_in(path + (two ? "/memory.max" : "/memory.limit_in_bytes")));
      EXPECT_LT(sample.word[5], 1u << 30) << "a count of kills";
      below = path;
    }
  });
}

// Known: v1 says "none" as the largest page-aligned number, and it is written as it is. To be enabled with the
// fix.
TEST(Samples, NoLimitIsAllOnes) {
  const Scratch scratch;
  in_child([&] {
    tests::open_files(scratch);
    sample_now();
    for (const RingRecord& sample :
         all_of(tests::read_segments(scratch.file("t.memtrace")), EventType::sample_cgroup))
      EXPECT_TRUE(sample.word[2] == ~std::uint64_t{0} || sample.word[2] < 0x7FFFFFFFFFFFF000) << sample.word[2];
  });
}

TEST(Samples, AForkedChildNamesThemAgain) {
  const Scratch parent, child;
  in_child([&] {
    tests::open_files(parent);
    sample_now();
    forget_samples();
    tests::open_files(child);
    sample_now();
    const auto segments = tests::read_segments(child.file("t.memtrace"));
    EXPECT_EQ(segments.size(), 1u);
    EXPECT_EQ(segments.at(0).header.first_sequence, 0u);
    EXPECT_EQ(tests::texts_of(segments).size(), all_of(segments, EventType::sample_cgroup).size());
  });
}

TEST(Samples, NamesGoAgainWhenTheyWereNotWritten) {
  const Scratch scratch;
  in_child([&] {
    tests::open_files(scratch, format::kPage); // no room for a segment
    sample_now();
    EXPECT_TRUE(tests::read_segments(scratch.file("t.memtrace")).empty());
    const Scratch roomy;
    tests::open_files(roomy);
    sample_now();
    const auto segments = tests::read_segments(roomy.file("t.memtrace"));
    EXPECT_EQ(segments.at(0).header.first_sequence, 0u);
    EXPECT_EQ(tests::texts_of(segments).size(), all_of(segments, EventType::sample_cgroup).size());
  });
}

} // namespace
} // namespace memtrace::record
