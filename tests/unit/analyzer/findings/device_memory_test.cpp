// Purpose: what a card holds beside allocations and blocks, by sums made by hand; a finding where it is one,
// and none in the program beside it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "analyzer/explain/segment_use.h"
#include "analyzer/findings/all_findings.h"
#include "analyzer/print/text/report_text.h"
#include "builder.h"
#include "folded.h"
#include "tests/unit/sizes.h"

namespace memtrace::report {
namespace {

using tests::Builder;
using tests::EventType;
using tests::Kind;

using tests::kMiB;
constexpr std::uint16_t kCard = 1 << format::kMemoryShift, kOther = 2 << format::kMemoryShift;

class Devices : public testing::Test {
 protected:
  void segment(std::uint64_t address, std::uint64_t bytes, Kind kind = Kind::device,
               std::uint16_t gpu = kCard) {
    builder.birth(address, bytes, kind, gpu, 0, bytes);
  }
  // As PyTorch's allocator says it, its totals after it.
  void block(std::uint64_t address, std::uint64_t bytes, std::uint32_t stack = 0) {
    builder.birth(address, 0, Kind::none, static_cast<std::uint16_t>(kCard | format::kTensor), stack, bytes);
  }
  void drop(std::uint64_t address) {
    builder.death(address, 0, Kind::none, static_cast<std::uint16_t>(kCard | format::kTensor));
  }
  void holds(std::uint64_t allocated, std::uint64_t reserved) {
    builder.put(EventType::reserved, 0, kCard, {allocated, reserved});
  }
  void shows(std::uint64_t process, std::uint64_t code = 0, std::uint16_t gpu = kCard, std::uint64_t others = 0,
             std::uint64_t all = 0) {
    builder.put(EventType::sample_device, 0, gpu, {process, all, 80 * 1024 * kMiB, 0, code, others});
  }

  ProcessAnalysis& open(const char* kind = "main") {
    tests::write_file(scratch_.file("t.memtrace"), builder.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch_.file("t.memtrace"));
    ProcessEnd end = read_end(*trace);
    analysis_ = analyze_process(std::move(trace), kind, std::move(end), Options{});
    return *analysis_;
  }
  // On one line, with single blanks: paragraphs are wrapped.
  std::string text() {
    std::string out;
    for (const char c : process_text(*analysis_, find(*analysis_), Options{}, TextStyle{}))
      if (c != ' ' && c != '\n')
        out += c;
      else if (!out.empty() && out.back() != ' ')
        out += ' ';
    return out;
  }

  // Ten segments of 1 GiB, each with a block of `kept` MiB; then one block of 512 that has no room in them.
  void ten(std::uint64_t kept) {
    constexpr std::uint64_t kGap = 2048 * kMiB;
    const std::uint32_t keeper = builder.python_frame("keep", "/home/u/train.py", 7, 0);
    builder.begin("load");
    for (std::uint64_t i = 1; i <= 10; ++i) {
      segment(i * kGap, 1024 * kMiB);
      block(i * kGap, kept * kMiB, keeper);
      holds(i * kept * kMiB, i * 1024 * kMiB);
    }
    segment(20 * kGap, 512 * kMiB);
    block(20 * kGap, 512 * kMiB);
    holds((10 * kept + 512) * kMiB, (10 * 1024 + 512) * kMiB);
    builder.end("load");
  }

  Builder builder;

 private:
  tests::Scratch scratch_;
  std::unique_ptr<ProcessAnalysis> analysis_;
};

TEST_F(Devices, SegmentsThatBlocksKeep) {
  ten(600);
  ProcessAnalysis& analysis = open();
  const replay::Segments& segments = analysis.segments.at(1);
  ASSERT_EQ(segments.each.size(), 11u);
  EXPECT_EQ(segments.bytes, (10 * 1024 + 512) * kMiB);
  EXPECT_EQ(segments.in_blocks, (10 * 600 + 512) * kMiB);
  EXPECT_EQ(segments.each[0].unused(), 424 * kMiB);
  EXPECT_EQ(segments.each[10].unused(), 0u);
  const Findings findings = find(analysis);
  ASSERT_EQ(findings.size(), 1u);
  const Finding& finding = findings[0];
  EXPECT_EQ(finding.id, "device-fragmentation");
  EXPECT_EQ(finding.memory, 1);
  EXPECT_EQ(finding.phase, "load");
  EXPECT_EQ(finding.bytes, static_cast<std::int64_t>(10 * 424 * kMiB));
  EXPECT_TRUE(finding.certain);
  EXPECT_NE(finding.remedy.find("expandable_segments:True: up to -4.14 GiB"), std::string::npos)
      << finding.remedy;
  EXPECT_NE(finding.site, format::StackId{});
  EXPECT_NE(
      text().find("segments unused of MiB blocks since site of most bytes 10 424.00 1024.00 1 load train.py:7"),
      std::string::npos)
      << text();
}

TEST_F(Devices, NoneWhereSegmentsAreNearlyFull) {
  ten(960); // 640 MiB of 10.5 GiB are unused
  ProcessAnalysis& analysis = open();
  EXPECT_EQ(analysis.segments.at(1).bytes - analysis.segments.at(1).in_blocks, 10 * 64 * kMiB);
  EXPECT_TRUE(find(analysis).empty());
}

TEST_F(Devices, NoneWhereTheBlocksOnceFilledThem) {
  ten(600);
  for (std::uint64_t i = 1; i <= 10; ++i)
    block(i * 2048 * kMiB + 600 * kMiB, 424 * kMiB); // as little held as can be
  EXPECT_TRUE(find(open()).empty());
}

TEST_F(Devices, WhatLayBetweenBlocksWhenACardHadNoMore) {
  ten(600);
  const auto refused = [&](std::uint64_t asked) {
    builder.put(EventType::failure, 0, kCard | format::kTensor,
                {asked, 2, 0, 10752 * kMiB, 100 * kMiB, 11 * 1024 * kMiB});
  };
  refused(4000 * kMiB);
  builder.exit(1);
  const auto oom = [](ProcessAnalysis& analysis) {
    const Findings findings = find(analysis);
    return *std::find_if(findings.begin(), findings.end(),
                         [](const Finding& finding) { return finding.id == "cuda-oom"; });
  };
  EXPECT_EQ(oom(open()).remedy.rfind("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", 0), 0u);
  EXPECT_NE(text().find("Unused in the allocator's segments were 4.14 GiB in 10 segments beside blocks"),
            std::string::npos)
      << text();
  refused(5000 * kMiB); // more than there is
  builder.exit(1);
  EXPECT_EQ(oom(open()).remedy.find("PYTORCH"), std::string::npos);
}

TEST_F(Devices, WhatIsCachedWholeIsEmpty) {
  segment(4096 * kMiB, 1000 * kMiB);
  block(4096 * kMiB, 1000 * kMiB);
  holds(1000 * kMiB, 1000 * kMiB);
  drop(4096 * kMiB);
  segment(8192 * kMiB, 1100 * kMiB); // which the first one is too small for
  block(8192 * kMiB, 1100 * kMiB);
  holds(1100 * kMiB, 2100 * kMiB);
  ProcessAnalysis& analysis = open();
  EXPECT_EQ(analysis.segments.at(1).each[0].blocks, 0u);
  EXPECT_EQ(analysis.segments.at(1).each[0].unused(), 1000 * kMiB);
  const Findings findings = find(analysis);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].bytes, static_cast<std::int64_t>(1000 * kMiB));
  EXPECT_NE(text().find("unused 1000.00 MiB in 1 empty segment"), std::string::npos) << text();
}

TEST_F(Devices, MemoryOfOthersIsNoSegment) {
  segment(std::uint64_t{1} << 46, 4096 * kMiB); // NCCL's, say
  ten(960);
  EXPECT_EQ(open().segments.at(1).each.size(), 11u);
}

TEST_F(Devices, PagesMappedOneByOneAreOneSum) {
  segment(0x100, 20 * kMiB, Kind::device_vmm);
  block(4096 * kMiB, 12 * kMiB);
  holds(12 * kMiB, 20 * kMiB);
  ProcessAnalysis& analysis = open();
  EXPECT_TRUE(analysis.segments.at(1).each.empty());
  EXPECT_EQ(analysis.segments.at(1).outside, 12 * kMiB);
  EXPECT_NE(text().find("20.00 MiB in pages mapped one by one, for blocks of 12.00 MiB"), std::string::npos)
      << text();
}

TEST_F(Devices, ResidualByWhatCameBetweenLooks) {
  shows(400 * kMiB);
  segment(4096 * kMiB, 100 * kMiB);
  shows(500 * kMiB);            // the same
  shows(530 * kMiB, 10 * kMiB); // with a module
  shows(600 * kMiB, 10 * kMiB); // with nothing that is known
  builder.death(4096 * kMiB, 100 * kMiB, Kind::device, kCard);
  shows(500 * kMiB, 10 * kMiB);
  ProcessAnalysis& analysis = open();
  const replay::DeviceUsage& gpu = analysis.account.device_usage.at(1);
  EXPECT_EQ(gpu.peak->bytes, static_cast<std::int64_t>(600 * kMiB));
  EXPECT_EQ(gpu.residual.context, static_cast<std::int64_t>(400 * kMiB));
  EXPECT_EQ(gpu.residual.code, static_cast<std::int64_t>(30 * kMiB));
  EXPECT_EQ(gpu.residual.rest, static_cast<std::int64_t>(70 * kMiB));
  EXPECT_EQ(gpu.residual.sum() + gpu.live, gpu.peak->bytes);
  EXPECT_TRUE(find(analysis).empty());
}

TEST_F(Devices, AGpuThatWasAskedBeforeMostWasAllocated) {
  segment(4096 * kMiB, 100 * kMiB);
  shows(500 * kMiB);
  segment(8192 * kMiB, 900 * kMiB);
  open();
  EXPECT_NE(text().find("the GPU showed 500.00 MiB for this process, outside training; 400.00 MiB of it does "
                        "not belong to an allocation (context 400.00 MiB, code and the rest 0.00 MiB: an "
                        "estimate); it was not "
                        "asked while 1000.00 MiB were allocated"),
            std::string::npos)
      << text();
}

TEST_F(Devices, AFigureIsCurrentUntilMemoryComesOrGoes) {
  segment(4096 * kMiB, 100 * kMiB);
  builder.begin("not asked");
  builder.end("not asked");
  shows(500 * kMiB);
  builder.begin("asked before");
  block(4096 * kMiB, 10 * kMiB);
  builder.end("asked before");
  builder.begin("asked within");
  segment(8192 * kMiB, 300 * kMiB);
  shows(800 * kMiB);
  builder.death(8192 * kMiB, 300 * kMiB, Kind::device, kCard);
  builder.end("asked within");
  builder.begin("asked too late");
  segment(8192 * kMiB, 200 * kMiB);
  builder.death(8192 * kMiB, 200 * kMiB, Kind::device, kCard);
  shows(500 * kMiB);
  builder.end("asked too late");
  const ProcessAnalysis& analysis = open();
  const auto in_mib = [](std::int64_t bytes) { return bytes < 0 ? -1 : static_cast<int>(bytes >> 20); };
  std::map<std::string, std::vector<int>> used; // entry, peak and exit of each phase
  for (const replay::Row& row : analysis.account.rows) {
    const replay::Figures& figures = row.of(1).used;
    used[std::string(analysis.account.paths.text(analysis.account.paths.last(row.path)))] = {
        in_mib(figures.entry), in_mib(figures.peak), in_mib(figures.exit)};
  }
  EXPECT_EQ(used["not asked"], (std::vector<int>{-1, -1, -1}));
  EXPECT_EQ(used["asked before"], (std::vector<int>{500, 500, 500}));
  EXPECT_EQ(used["asked within"], (std::vector<int>{500, 800, -1}));
  EXPECT_EQ(used["asked too late"], (std::vector<int>{-1, -1, 500}));
  EXPECT_EQ(why_use_is_unknown(analysis, 1), std::nullopt);
}

TEST_F(Devices, AFigureBelowWhatIsLiveIsOfAnotherProcess) {
  segment(4096 * kMiB, 300 * kMiB);
  shows(40 * kMiB, 0, kCard, 1, 900 * kMiB); // the pid of this process is another one's outside its container
  const replay::DeviceUsage gpu = open().account.device_usage.at(1);
  EXPECT_FALSE(gpu.own);
  EXPECT_EQ(gpu.peak->bytes, static_cast<std::int64_t>(900 * kMiB));
}

TEST_F(Devices, ManagedMemoryMayBeOnTheHost) {
  segment(4096 * kMiB, 300 * kMiB, Kind::managed);
  shows(100 * kMiB);
  EXPECT_TRUE(open().account.device_usage.at(1).own);
}

TEST_F(Devices, WhatPoolsKeepIsNoContext) {
  segment(4096 * kMiB, 300 * kMiB, Kind::device_async);
  holds(300 * kMiB, 320 * kMiB);
  builder.death(4096 * kMiB, 300 * kMiB, Kind::device_async, kCard);
  segment(4096 * kMiB, 100 * kMiB, Kind::device_async);
  shows(720 * kMiB);
  const replay::DeviceUsage gpu = open().account.device_usage.at(1);
  EXPECT_EQ(gpu.pools, static_cast<std::int64_t>(220 * kMiB));
  EXPECT_EQ(gpu.residual.sum(), static_cast<std::int64_t>(400 * kMiB));
}

TEST_F(Devices, ContextOnACardWithoutWork) {
  segment(4096 * kMiB, 2000 * kMiB);
  shows(2500 * kMiB);
  shows(500 * kMiB, 0, kOther);
  ProcessAnalysis& analysis = open();
  const Findings findings = find(analysis);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "device-context");
  EXPECT_EQ(findings[0].memory, 2);
  EXPECT_EQ(findings[0].bytes, static_cast<std::int64_t>(500 * kMiB));
  EXPECT_NE(findings[0].remedy.find("torch.cuda.set_device(0)"), std::string::npos);
}

TEST_F(Devices, TheLineThatMadeAContext) {
  const std::uint32_t line = builder.python_frame("free", "/home/u/train.py", 23, 0);
  builder.birth(0x7000, 0, Kind::context, kOther | format::kNoAccess, line);
  segment(4096 * kMiB, 2000 * kMiB);
  shows(2500 * kMiB);
  shows(500 * kMiB, 0, kOther);
  ProcessAnalysis& analysis = open();
  const Findings findings = find(analysis);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(static_cast<std::uint32_t>(findings[0].site), line);
  EXPECT_EQ(findings[0].sentences[0], "It works on cuda:0, and train.py:23 made a context here as well.");
  EXPECT_EQ(findings[0].bytes_at_end, static_cast<std::int64_t>(500 * kMiB))
      << "the context has no block with bytes";
}

TEST_F(Devices, NoneWhereBothCardsHaveWork) {
  segment(4096 * kMiB, 2000 * kMiB);
  segment(8192 * kMiB, 1000 * kMiB, Kind::device, kOther);
  shows(2500 * kMiB);
  shows(1500 * kMiB, 0, kOther);
  EXPECT_TRUE(find(open()).empty());
}

TEST_F(Devices, ContextOfAWorker) {
  shows(500 * kMiB);
  EXPECT_TRUE(find(open("main")).empty());
  ProcessAnalysis& analysis = open("worker");
  const Findings findings = find(analysis);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "device-context");
}

TEST_F(Devices, CodeThatIsMuch) {
  shows(300 * kMiB);
  shows(1000 * kMiB, 400 * kMiB);
  ProcessAnalysis& analysis = open();
  const Findings findings = find(analysis);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "device-context");
  EXPECT_EQ(findings[0].bytes, static_cast<std::int64_t>(700 * kMiB));
  EXPECT_FALSE(findings[0].certain);
}

TEST_F(Devices, NoneWhereAllMayBeOthers) { // the card does not know this process, and knows two
  shows(~std::uint64_t{0}, 0, kCard, 2, 300 * kMiB);
  shows(~std::uint64_t{0}, 400 * kMiB, kCard, 2, 1000 * kMiB);
  ProcessAnalysis& analysis = open();
  EXPECT_TRUE(find(analysis).empty());
  EXPECT_NE(text().find("and may be of other processes"), std::string::npos) << text();
}

} // namespace
} // namespace memtrace::report
