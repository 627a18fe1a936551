// Purpose: a peak that follows the size of the batch is found, and one with another cause is not.
#include "analyzer/findings/peak/input_driven.h"

#include <gtest/gtest.h>

#include <functional>

#include "builder.h"
#include "tests/unit/sizes.h"

namespace memtrace::report {
namespace {

using tests::Builder;
using tests::kMiB;
using tests::kSignedMiB;

class InputDriven : public testing::Test {
 protected:
  InputDriven() {
    const std::uint32_t call = builder.python_frame("main", "/home/u/train.py", 27, 0);
    const std::uint32_t module =
        builder.python_frame("_call_impl", "/l/site-packages/torch/nn/modules/module.py", 1751, call);
    layer = builder.python_frame("forward", "/home/u/model.py", 5, module);
    builder.begin("load").tensor(1, 50 * kMiB).end("load");
  }

  // A step with a batch of some MiB, whose activations take some MiB.
  void step(std::uint64_t batch, std::uint64_t activations) {
    builder.begin("data").tensor(2, batch * kMiB).end("data");
    builder.begin("forward").tensor(3, activations * kMiB, layer).end("forward");
    builder.begin("backward").tensor_death(3).end("backward").begin("step").end("step").tensor_death(2);
  }
  Findings found() {
    builder.exit(0);
    tests::write_file(scratch_.file("t.memtrace"), builder.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch_.file("t.memtrace"));
    ProcessEnd end = read_end(*trace);
    analysis_ = analyze_process(std::move(trace), "main", std::move(end), Options{});
    return find_input_driven(*analysis_);
  }
  // Batches of 4 to 13 MiB, and one of 40 in step 17.
  static std::uint64_t batch_of(std::uint64_t step) { return step == 17 ? 40 : 4 + step * 7 % 10; }

  Builder builder;
  std::uint32_t layer = 0;

 private:
  tests::Scratch scratch_;
  std::unique_ptr<ProcessAnalysis> analysis_;
};

// The model, 40 of the batch and 20 times as much of activations. In any other step, the batch has at most 13.
TEST_F(InputDriven, ByTheLargestBatch) {
  for (std::uint64_t i = 0; i < 31; ++i) step(batch_of(i), 20 * batch_of(i));
  const Findings all = found();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].id, "input-driven-peak");
  EXPECT_EQ(static_cast<std::int64_t>(all[0].step), 17);
  EXPECT_EQ(all[0].phase, "forward");
  EXPECT_TRUE(all[0].certain);
  ASSERT_TRUE(all[0].saving);
  EXPECT_EQ(all[0].saving->bytes, (40 - 12) * 21 * kSignedMiB)
      << "a tenth of 30 steps: 40, 13 and 13 are larger";
  EXPECT_EQ(all[0].title,
            "The largest batch makes the peak of tensors: step 17 has 5.0 times the median batch and takes "
            "890.00 MiB instead of 218.00 MiB, at train.py:27");
  EXPECT_NE(all[0].evidence.at(1).find("takes 21.0 bytes"), std::string::npos) << all[0].evidence.at(1);
}

TEST_F(InputDriven, ByACopyOfTheBatchOnAGpu) {
  const std::uint16_t gpu = 1 << format::kMemoryShift;
  builder.begin("load").birth(0x1000, 50 * kMiB, format::Kind::device, gpu | format::kTensor).end("load");
  for (std::uint64_t i = 0; i < 31; ++i) {
    builder.begin("data").tensor(2, batch_of(i) * kMiB).end("data");
    builder.birth(0x2000, batch_of(i) * kMiB, format::Kind::device, gpu | format::kTensor);
    builder.begin("forward")
        .birth(0x3000, 20 * batch_of(i) * kMiB, format::Kind::device, gpu | format::kTensor, layer)
        .end("forward");
    builder.begin("backward").death(0x3000, 0, format::Kind::device, gpu | format::kTensor).end("backward");
    builder.begin("step").end("step").tensor_death(2);
    builder.death(0x2000, 0, format::Kind::device, gpu | format::kTensor);
  }
  Findings all = found();
  std::erase_if(all, [](const Finding& one) { return one.memory == 0; });
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].saving->bytes, (40 - 12) * 21 * kSignedMiB);
}

TEST_F(InputDriven, NotByEqualBatches) {
  for (std::uint64_t i = 0; i < 31; ++i) step(8, 20 * batch_of(i));
  EXPECT_TRUE(found().empty());
}

TEST_F(InputDriven, NotByBatchesThatDoNotExplainThePeak) {
  for (std::uint64_t i = 0; i < 31; ++i) step(4 + i * 3 % 10, 20 * batch_of(i));
  EXPECT_TRUE(found().empty());
}

// Most of what differs between the steps is not of the batch.
TEST_F(InputDriven, NotByBatchesThatExplainLittle) {
  for (std::uint64_t i = 0; i < 31; ++i) step(i == 17 ? 20 : batch_of(i), i == 17 ? 232 : 200 + 20 * (i % 2));
  EXPECT_TRUE(found().empty());
}

// The last batch of an epoch is smaller.
TEST_F(InputDriven, NotByASmallerLastBatch) {
  for (std::uint64_t i = 0; i < 31; ++i) step(i % 10 == 9 ? 2 : 8, i % 10 == 9 ? 40 : 160);
  EXPECT_TRUE(found().empty());
}

TEST_F(InputDriven, NotIfThePeakIsElsewhere) {
  for (std::uint64_t i = 0; i < 31; ++i) step(batch_of(i), 20 * batch_of(i));
  builder.begin("save").tensor(9, 2000 * kMiB).tensor_death(9).end("save");
  EXPECT_TRUE(found().empty());
}

// Each step keeps 20 MiB, so the last one is the highest, whatever its batch.
TEST_F(InputDriven, NotByALeak) {
  for (std::uint64_t i = 0; i < 31; ++i) {
    builder.tensor(0x1000 + i, 20 * kMiB);
    step(4 + i * 7 % 10, 80);
  }
  EXPECT_TRUE(found().empty());
}

TEST_F(InputDriven, NotInFewSteps) {
  for (std::uint64_t i = 10; i < 20; ++i) step(batch_of(i), 20 * batch_of(i));
  EXPECT_TRUE(found().empty());
}

// Without the larger batches, a validation makes a peak that is nearly as high.
TEST_F(InputDriven, NotIfSmallerBatchesSaveLittle) {
  for (std::uint64_t i = 0; i < 31; ++i) step(batch_of(i), 20 * batch_of(i));
  builder.begin("eval").tensor(9, 820 * kMiB).tensor_death(9).end("eval");
  EXPECT_TRUE(found().empty());
}

} // namespace
} // namespace memtrace::report
