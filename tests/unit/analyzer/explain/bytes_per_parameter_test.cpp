// Purpose: tests that buffers with names have rows of their own, each with its part of the theory.
#include "analyzer/explain/bytes_per_parameter.h"

#include <gtest/gtest.h>

#include "analyzer/explain/process_analysis.h"
#include "builder.h"
#include "tests/unit/sizes.h"

namespace memtrace::report {
namespace {

using tests::kMiB;

std::unique_ptr<ProcessAnalysis> analysis_of(tests::Builder& builder, const tests::Scratch& scratch) {
  tests::write_file(scratch.file("t.memtrace"), builder.bytes());
  auto trace = std::make_unique<trace::Trace>(scratch.file("t.memtrace"));
  ProcessEnd end = read_end(*trace);
  return analyze_process(std::move(trace), "main", std::move(end), Options{});
}

// A tensor of 4 MiB with a label, made by train.py:3.
void labelled_tensor(tests::Builder& builder, std::uint64_t address, const char* role, const char* name) {
  builder.tensor(address, 4 * kMiB, builder.python_frame("main", "/home/u/train.py", 3, 0));
  builder.put(format::EventType::label, 0, 0,
              {address, 4 * kMiB, builder.text(role) | std::uint64_t{builder.text(name)} << 32});
}

// Two layers with Adam: two parameters, two gradients, four states.
TEST(BytesPerParameter, OneRowForEachNamedBuffer) {
  tests::Builder builder;
  const auto labelled = [&](std::uint64_t address, const char* role, const char* name) {
    labelled_tensor(builder, address, role, name);
  };
  builder.begin("load");
  labelled(1, "parameter", "a.weight");
  labelled(2, "parameter", "b.weight");
  builder.end("load").parameters(2 * kMiB, 8 * kMiB, 2).note("optimizer=AdamW");
  builder.begin("forward").end("forward").begin("backward");
  labelled(3, "gradient", "a.weight");
  labelled(4, "gradient", "b.weight");
  builder.end("backward").begin("step");
  labelled(5, "optimizer_state", "exp_avg");
  labelled(6, "optimizer_state", "exp_avg_sq");
  labelled(7, "optimizer_state", "exp_avg");
  labelled(8, "optimizer_state", "exp_avg_sq");
  builder.end("step").begin("forward").end("forward").exit(0);
  const tests::Scratch scratch;
  const auto analysis = analysis_of(builder, scratch);
  const Explanation out = explain(*analysis, 0, std::nullopt);
  std::map<std::string, const KeptRow*> rows;
  for (const KeptRow& row : out.kept) rows[row.name] = &row;
  ASSERT_EQ(rows.size(), 4u);
  for (const char* name : {"exp_avg", "exp_avg_sq"}) {
    ASSERT_TRUE(rows.contains(name)) << name;
    EXPECT_EQ(rows[name]->asked, 8 * kMiB);
    EXPECT_EQ(rows[name]->theory, 4.0);
    EXPECT_EQ(rows[name]->role, replay::Role::optimizer_state);
    EXPECT_TRUE(rows[name]->buffer);
  }
  EXPECT_EQ(rows.at("gradient")->asked, 8 * kMiB) << "a gradient has the name of its parameter";
  EXPECT_EQ(out.theory, 16.0);
}

// ZeRO over two ranks: 2 Mi parameters in bfloat16, of which this rank updates the half that it has master
// copies of.
TEST(BytesPerParameter, TheoryIsOfTheRanksPartOfTheMasters) {
  for (const int ranks : {1, 2, 4}) {
    tests::Builder builder;
    const auto labelled = [&](std::uint64_t address, const char* role, const char* name) {
      labelled_tensor(builder, address, role, name);
    };
    builder.note("rank=0").note("world-size=" + std::to_string(ranks)).begin("load");
    labelled(1, "parameter", "a.weight");
    labelled(2, "master", "");
    labelled(3, "gradient", "");
    builder.end("load").parameters(2 * kMiB, 4 * kMiB, 1).note("optimizer=DeepSpeedCPUAdam");
    builder.begin("forward").end("forward").begin("step");
    labelled(4, "optimizer_state", "exp_avg");
    labelled(5, "optimizer_state", "exp_avg_sq");
    builder.end("step").begin("forward").end("forward").exit(0);
    const tests::Scratch scratch;
    const auto analysis = analysis_of(builder, scratch);
    // 2 + 2 + 2 + 2 x 2. Of one rank or four, the copies are not the part that ZeRO gives: 2 + 4 + 4 + 2 x 4.
    EXPECT_EQ(explain(*analysis, 0, std::nullopt).theory, ranks == 2 ? 10.0 : 18.0) << ranks;
  }
}

// A block of each step stays for good. The peak has one more, which lives for a short time: the age of the
// first is not an age of that.
TEST(BytesPerParameter, AgeOfWhatIsNotKept) {
  tests::Builder builder;
  const std::uint32_t site = builder.python_frame("main", "/home/u/train.py", 3, 0);
  builder.begin("load").tensor(1, 4 * kMiB, site);
  builder.put(format::EventType::label, 0, 0,
              {1, 4 * kMiB, builder.text("parameter") | std::uint64_t{builder.text("a")} << 32});
  builder.end("load").parameters(kMiB, 4 * kMiB, 1).note("optimizer=SGD");
  std::uint64_t address = 100;
  for (int step = 0; step < 3; ++step) {
    builder.begin("forward").end("forward").begin("step").end("step");
    builder.tensor(++address, 2 * kMiB, site).wait(1'000'000'000);
  }
  builder.begin("forward").end("forward").tensor(200, 2 * kMiB, site).tensor_death(200).exit(0);
  const tests::Scratch scratch;
  const auto analysis = analysis_of(builder, scratch);
  const Explanation out = explain(*analysis, 0, std::nullopt);
  ASSERT_EQ(out.transient.size(), 1u);
  EXPECT_EQ(out.transient[0].asked, 4 * kMiB) << "the last update ended before two of them";
  EXPECT_EQ(out.transient[0].step, replay::Step{3});
  EXPECT_EQ(out.transient[0].sites.size(), 1u) << "one line made the blocks of all steps";
  EXPECT_LT(out.transient[0].lifetime, 1'000'000u) << "ns";
}

} // namespace
} // namespace memtrace::report
