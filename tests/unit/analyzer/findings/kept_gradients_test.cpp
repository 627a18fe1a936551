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
  // As PyTorch does: in a backward, activations go while gradients come. `first`: MiB that backward takes
  // before.
  Findings of(Freed freed, std::uint64_t update = 1, std::uint64_t first = 0) {
    builder.begin("load").tensor(1, 100 * kMiB).end("load");
    for (int step = 0; step < 4; ++step) {
      if (step != 0 && freed == Freed::before_the_forward) builder.tensor_death(2);
      builder.begin("forward").tensor(3, 150 * kMiB).tensor(5, 150 * kMiB).end("forward").begin("loss");
      if (step != 0 && freed == Freed::before_the_backward)
        builder.begin("zero_grad").tensor_death(2).end("zero_grad");
      builder.end("loss").begin("backward");
      if (first != 0) builder.tensor(6, first * kMiB).tensor_death(6);
      builder.tensor_death(3);
      if (step == 0 || freed != Freed::never) builder.tensor(2, 100 * kMiB);
      builder.tensor_death(5).end("backward");
      builder.begin("step").tensor(4, update * kMiB).tensor_death(4).end("step");
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

TEST_F(KeptGradients, WhereTheForwardMakesThePeak) {
  const Findings findings = of(Freed::before_the_backward);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].bytes, static_cast<std::int64_t>(100 * kMiB));
  EXPECT_NE(findings[0].remedy.find("-100.00 MiB at the peak"), std::string::npos) << findings[0].remedy;
}

TEST_F(KeptGradients, NoneWhereTheyAreFreedInTime) {
  EXPECT_TRUE(of(Freed::before_the_forward).empty());
}

// As after zero_grad(set_to_none=False): the backward begins as high as the forward ended.
TEST_F(KeptGradients, NoneWhereTheyAreNeverFreed) {
  EXPECT_TRUE(of(Freed::never).empty());
}

TEST_F(KeptGradients, NoneWhereTheUpdateIsHigher) {
  EXPECT_TRUE(of(Freed::before_the_backward, 290).empty()) << "490 MiB in the update, 500 in the forward";
}

TEST_F(KeptGradients, NoneWhereTheBackwardIsAsHigh) {
  EXPECT_TRUE(of(Freed::before_the_backward, 1, 95).empty()) << "495 MiB in the backward, 500 in the forward";
}

} // namespace
} // namespace memtrace::report
