// Purpose: tests that gradients which a forward holds are found only if freeing them lowers the peak.
#include "analyzer/findings/peak/kept_gradients.h"

#include <gtest/gtest.h>

#include "analyzer/findings/all_findings.h"
#include "builder.h"
#include "tests/unit/sizes.h"

namespace memtrace::report {
namespace {

using tests::Builder;
using tests::kMiB;

enum class Freed { before_the_forward, before_the_backward, never };

class KeptGradients : public testing::Test {
 protected:
  Findings of(Freed freed, std::uint64_t activations, std::uint64_t temporary = 1) {
    builder.begin("load").tensor(1, 100 * kMiB).end("load");
    for (int step = 0; step < 4; ++step) {
      if (step != 0 && freed == Freed::before_the_forward) builder.tensor_death(2);
      builder.begin("forward").tensor(3, activations * kMiB).end("forward").begin("loss");
      if (step != 0 && freed == Freed::before_the_backward)
        builder.begin("zero_grad").tensor_death(2).end("zero_grad");
      builder.end("loss").begin("backward");
      if (step == 0 || freed != Freed::never) builder.tensor(2, 100 * kMiB);
      builder.tensor_death(3).end("backward");
      builder.begin("step").tensor(4, temporary * kMiB).tensor_death(4).end("step");
    }
    builder.exit(0);
    tests::write_file(scratch_.file("t.memtrace"), builder.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch_.file("t.memtrace"));
    ProcessEnd end = read_end(*trace);
    analysis_ = analyze_process(std::move(trace), "main", std::move(end), Options{});
    Findings out = find(*analysis_);
    std::erase_if(out, [](const Finding& one) { return one.id != "gradients-kept-through-forward"; });
    return out;
  }

  Builder builder;

 private:
  tests::Scratch scratch_;
  std::unique_ptr<ProcessAnalysis> analysis_;
};

// The backward allocates its gradient before it frees the activation, so its peak is as high as the forward's.
TEST_F(KeptGradients, NoneWhereTheBackwardHasTheSamePeak) {
  EXPECT_TRUE(of(Freed::before_the_backward, 300).empty());
}

TEST_F(KeptGradients, NoneWhereTheyAreFreedInTime) {
  EXPECT_TRUE(of(Freed::before_the_forward, 300).empty());
}

TEST_F(KeptGradients, NoneWhereTheyAreNeverFreed) {
  EXPECT_TRUE(of(Freed::never, 300).empty());
}

TEST_F(KeptGradients, NoneWhereTheUpdateIsHigher) {
  EXPECT_TRUE(of(Freed::before_the_backward, 10, 500).empty());
}

// As PyTorch does: activations go while gradients come.
TEST_F(KeptGradients, WhereTheForwardMakesThePeak) {
  builder.begin("load").tensor(1, 100 * kMiB).end("load");
  for (int step = 0; step < 4; ++step) {
    builder.begin("forward").tensor(3, 150 * kMiB).tensor(5, 150 * kMiB).end("forward").begin("loss");
    if (step != 0) builder.tensor_death(2);
    builder.end("loss").begin("backward").tensor_death(3).tensor(2, 100 * kMiB).tensor_death(5).end("backward");
    builder.begin("step").end("step");
  }
  builder.exit(0);
  tests::Scratch scratch;
  tests::write_file(scratch.file("t.memtrace"), builder.bytes());
  auto trace = std::make_unique<trace::Trace>(scratch.file("t.memtrace"));
  ProcessEnd end = read_end(*trace);
  const auto analysis = analyze_process(std::move(trace), "main", std::move(end), Options{});
  const Findings findings = find(*analysis);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "gradients-kept-through-forward");
  EXPECT_EQ(findings[0].bytes, static_cast<std::int64_t>(100 * kMiB));
  EXPECT_NE(findings[0].remedy.find("-100.00 MiB at the peak"), std::string::npos) << findings[0].remedy;
}

} // namespace
} // namespace memtrace::report
