// Purpose: host memory that each rank made for itself is one finding with the bytes of all copies but one. What
// every rank needs for itself is not a finding.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyzer/findings/all_findings.h"
#include "analyzer/findings/process/across_processes.h"
#include "builder.h"
#include "tests/unit/sizes.h"

namespace memtrace::report {
namespace {

using tests::Builder;
using tests::Kind;
using tests::kMiB;

class CopiesOfRanks : public testing::Test {
 protected:
  // Adds one rank, which `fill` gives its blocks, and analyzes it.
  template <class Fill>
  void rank(std::uint32_t rank, Fill fill, const std::string& host = "node") {
    Builder builder;
    const auto pair = [](std::uint64_t low, std::uint64_t high) { return low | high << 32; };
    builder.put(tests::EventType::process, 0, 0,
                {pair(5000 + rank, 4200), Builder::kUnix,
                 pair(builder.text("/usr/bin/python3"), builder.text("python")),
                 pair(builder.text(host), builder.text("/home/u")), 4096, pair(524288, 4096)});
    builder.rank(rank, 4);
    fill(builder, builder.python_frame("read", "/home/u/data.py", 7, 0));
    tests::write_file(scratch_.file("t.memtrace"), builder.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch_.file("t.memtrace"));
    ProcessEnd end = read_end(*trace);
    const auto analysis = analyze_process(std::move(trace), "rank", std::move(end), Options{});
    across_.add(*analysis, report::find(*analysis), false);
  }
  // Adds a rank that holds one block.
  void holder(std::uint32_t number, std::uint64_t bytes, const std::string& host = "node") {
    rank(
        number,
        [bytes](Builder& builder, std::uint32_t line) { builder.birth(1 << 20, bytes, Kind::heap, 0, line); },
        host);
  }
  std::vector<JobFinding> found() const { return across_.find(); }

 private:
  JobFindings across_;
  tests::Scratch scratch_;
};

TEST_F(CopiesOfRanks, AllButOneOfThem) {
  for (std::uint32_t i = 0; i < 4; ++i) holder(i, 100 * kMiB);
  const std::vector<JobFinding> all = found();
  ASSERT_EQ(all.size(), 1u);
  const Finding& finding = all[0].finding;
  EXPECT_EQ(finding.id, "rank-copies");
  EXPECT_EQ(finding.bytes, static_cast<std::int64_t>(300 * kMiB));
  EXPECT_FALSE(finding.certain);
  EXPECT_EQ(finding.title, "data.py:7: 100.00 MiB in each of 4 ranks, 400.00 MiB together");
  EXPECT_EQ(finding.evidence[0],
            "104857600 to 104857600 bytes in each of ranks 0, 1, 2, 3 of host node, made at data.py:7");
  ASSERT_NE(all[0].site, nullptr);
  EXPECT_EQ(all[0].site->where, "data.py:7");
}

TEST_F(CopiesOfRanks, EqualWithinTwoInAHundred) {
  holder(0, 100 * kMiB);
  holder(1, 98 * kMiB);
  holder(2, 95 * kMiB); // too far from the others
  const std::vector<JobFinding> all = found();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].finding.bytes, static_cast<std::int64_t>(98 * kMiB));
  EXPECT_NE(all[0].finding.evidence[0].find("ranks 0, 1 of host"), std::string::npos);
}

TEST_F(CopiesOfRanks, NoneIfTheSizesDiffer) {
  holder(0, 100 * kMiB);
  holder(1, 97 * kMiB);
  EXPECT_TRUE(found().empty());
}

TEST_F(CopiesOfRanks, NoneIfTheyAreSmall) {
  for (std::uint32_t i = 0; i < 4; ++i) holder(i, 63 * kMiB);
  EXPECT_TRUE(found().empty());
}

TEST_F(CopiesOfRanks, NoneOnDifferentHosts) {
  holder(0, 100 * kMiB, "one");
  holder(1, 100 * kMiB, "other");
  EXPECT_TRUE(found().empty());
}

TEST_F(CopiesOfRanks, OneFindingForAllHosts) {
  for (std::uint32_t i = 0; i < 4; ++i) holder(i, 100 * kMiB, i < 2 ? "one" : "other");
  const std::vector<JobFinding> all = found();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].finding.bytes, static_cast<std::int64_t>(200 * kMiB)) << "each host needs one";
  EXPECT_NE(all[0].finding.title.find("in each of 4 ranks, 400.00 MiB together on 2 hosts"), std::string::npos);
}

TEST_F(CopiesOfRanks, NoneOfPinnedOrSharedMemory) {
  for (std::uint32_t i = 0; i < 2; ++i)
    rank(i, [](Builder& builder, std::uint32_t line) {
      builder.birth(1 << 20, 100 * kMiB, Kind::pinned, 0, line);
      builder.birth(1 << 30, 100 * kMiB, Kind::shm, 0, line);
    });
  EXPECT_TRUE(found().empty());
}

TEST_F(CopiesOfRanks, NoneOfWhatComesAndGoes) {
  for (std::uint32_t i = 0; i < 2; ++i)
    rank(i, [](Builder& builder, std::uint32_t line) {
      builder.birth(1 << 20, 100 * kMiB, Kind::heap, 0, line).wait(10'000).death(1 << 20, 100 * kMiB);
      builder.wait(20'000).birth(1 << 30, 8192, Kind::heap, 0, line);
    });
  EXPECT_TRUE(found().empty());
}

TEST_F(CopiesOfRanks, NoneOfBatchesAndGradients) {
  for (std::uint32_t i = 0; i < 2; ++i)
    rank(i, [](Builder& builder, std::uint32_t line) {
      builder.begin("data").tensor(1 << 20, 100 * kMiB, line).end("data");
      builder.begin("backward").tensor(1 << 30, 100 * kMiB, line).end("backward");
    });
  EXPECT_TRUE(found().empty());
}

// Each rank of this job reads a checkpoint of 100 MiB in the phase `load`. It frees the tensors after `held`
// ns, and works for 30 us more.
class ModelsOfRanks : public CopiesOfRanks {
 protected:
  void loads(std::uint64_t held) {
    for (std::uint32_t i = 0; i < 2; ++i)
      rank(i, [held](Builder& builder, std::uint32_t line) {
        const auto load = builder.python_frame("load", "/x/site-packages/torch/serialization.py", 2128, line);
        builder.begin("load").tensor(1 << 20, 100 * kMiB, load).end("load").wait(held).tensor_death(1 << 20);
        builder.wait(30'000).birth(1 << 30, 8192, Kind::heap, 0, line);
      });
  }
};

TEST_F(ModelsOfRanks, FreedAfterTheLoadAreCopies) {
  loads(10'000);
  const std::vector<JobFinding> all = found();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].finding.bytes / tests::kSignedMiB, 100);
  EXPECT_EQ(all[0].finding.phase, "load");
  ASSERT_EQ(all[0].finding.sentences.size(), 3u);
  EXPECT_EQ(all[0].finding.sentences[2],
            "Each rank freed the model that it had loaded: it keeps a part of it, or has it on its GPU.");
}

TEST_F(ModelsOfRanks, InUseAreNoCopies) {
  loads(100'000);
  EXPECT_TRUE(found().empty());
}

TEST_F(CopiesOfRanks, NoneOfWhatNoPythonLineMade) {
  for (std::uint32_t i = 0; i < 2; ++i)
    rank(i, [](Builder& builder, std::uint32_t) {
      builder.birth(1 << 20, 100 * kMiB, Kind::heap, 0, builder.native_frame(0x1234, 0));
    });
  EXPECT_TRUE(found().empty());
}

} // namespace
} // namespace memtrace::report
