// Purpose: memory that a rank took on the GPU of another rank is one finding with the bytes and the line. A
// rank that works on several GPUs of its own gets none.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "analyzer/findings/all_findings.h"
#include "analyzer/findings/process/across_processes.h"
#include "builder.h"
#include "tests/unit/sizes.h"

namespace memtrace::report {
namespace {

using tests::Builder;
using tests::EventType;
using tests::Kind;
using tests::kMiB;

using TensorsOfGpu = std::map<unsigned, std::uint64_t>; // bytes, by the number of the GPU

class DevicesOfRanks : public testing::Test {
 protected:
  // Adds a rank with a tensor and its segment on each GPU. `context`: what the first GPU shows for it, 0:
  // unknown.
  void rank(std::uint32_t number, const TensorsOfGpu& gpus, std::uint64_t context = 0) {
    Builder builder;
    builder.rank(number, 2);
    const std::uint32_t line = builder.python_frame("load", "/home/u/train.py", 12, 0);
    builder.begin("load");
    for (const auto& [gpu, bytes] : gpus) {
      const auto memory = static_cast<std::uint16_t>((gpu + 1) << format::kMemoryShift);
      const std::uint64_t address = (std::uint64_t{gpu} + 1) << 40;
      builder.birth(address, bytes, Kind::device, memory, 0, bytes);
      builder.birth(address, 0, Kind::none, static_cast<std::uint16_t>(memory | format::kTensor), line, bytes);
      if (context != 0 && gpu == 0)
        builder.put(EventType::sample_device, 0, memory, {context, 0, 80 * 1024 * kMiB, 0, 0, 0});
    }
    builder.end("load");
    tests::write_file(scratch_.file("t.memtrace"), builder.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch_.file("t.memtrace"));
    ProcessEnd end = read_end(*trace);
    const auto analysis = analyze_process(std::move(trace), "rank", std::move(end), Options{});
    across_.add(*analysis, report::find(*analysis), false);
  }
  std::vector<JobFinding> found() const { return across_.find(); }

 private:
  JobFindings across_;
  tests::Scratch scratch_;
};

TEST_F(DevicesOfRanks, WhatTheyTookOnTheGpuOfTheFirst) {
  rank(0, {{0, 1000 * kMiB}});
  rank(1, {{0, 200 * kMiB}, {1, 1000 * kMiB}}, 700 * kMiB);
  rank(2, {{0, 300 * kMiB}, {2, 1000 * kMiB}}, 800 * kMiB);
  const std::vector<JobFinding> all = found();
  ASSERT_EQ(all.size(), 1u);
  const Finding& finding = all[0].finding;
  EXPECT_EQ(finding.id, "wrong-device");
  EXPECT_EQ(finding.memory, 1);
  EXPECT_EQ(finding.bytes, static_cast<std::int64_t>(500 * kMiB));
  EXPECT_TRUE(finding.certain);
  EXPECT_EQ(finding.title, "Ranks 1, 2 hold 500.00 MiB on cuda:0, the GPU of rank 0, at train.py:12");
  EXPECT_NE(finding.remedy.find("-1500.00 MiB"), std::string::npos) << finding.remedy;
  ASSERT_NE(all[0].site, nullptr);
  EXPECT_EQ(all[0].site->where, "train.py:12");
}

TEST_F(DevicesOfRanks, NoneIfEachRankHasItsOwn) {
  rank(0, {{0, 1000 * kMiB}});
  rank(1, {{1, 1000 * kMiB}});
  EXPECT_TRUE(found().empty());
}

TEST_F(DevicesOfRanks, NoneIfARankUsesGpusThatNoOtherHas) {
  rank(0, {{0, 1000 * kMiB}, {1, 900 * kMiB}});
  rank(1, {{2, 1000 * kMiB}, {3, 900 * kMiB}});
  EXPECT_TRUE(found().empty());
}

TEST_F(DevicesOfRanks, NoneIfTheyShareOneGpu) {
  rank(0, {{0, 1000 * kMiB}});
  rank(1, {{0, 900 * kMiB}});
  EXPECT_TRUE(found().empty());
}

TEST_F(DevicesOfRanks, ALittleBesideAContextIsThatContext) {
  rank(0, {{0, 1000 * kMiB}});
  rank(1, {{0, 20 * kMiB}, {1, 1000 * kMiB}}, 520 * kMiB);
  EXPECT_TRUE(found().empty()) << "device-context says it";
}

} // namespace
} // namespace memtrace::report
