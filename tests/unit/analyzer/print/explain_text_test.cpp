// Purpose: tests what an explanation leads with, and that the memory beside the model is divided by line.
#include "analyzer/print/text/explain_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/print/json/explain_json.h"
#include "builder.h"
#include "tests/unit/sizes.h"

namespace memtrace::report {
namespace {

using tests::Kind;
using tests::kMiB;

// A model of 16 MiB with SGD, which has no states: its gradients double it. Beside it, a table of the given
// size and a reservation that was never touched.
class ExplainText : public testing::Test {
 protected:
  const Explanation& of(std::uint64_t table_bytes) {
    const std::uint32_t table = builder_.python_frame("main", "/home/u/train.py", 9, 0);
    const std::uint32_t model = builder_.python_frame("main", "/home/u/train.py", 3, 0);
    builder_.birth(1, table_bytes, Kind::heap, 0, table);
    builder_.birth(kReservation, 64 * kMiB, Kind::mmap_anon, 0, model);
    builder_.put(format::EventType::sample_touched, 0, 0,
                 {kReservation, builder_.now(), 64 * kMiB, 0, builder_.now()});
    builder_.begin("load");
    if (parameters_allocated_) labelled(2, "parameter", model);
    builder_.end("load").parameters(4 * kMiB, 16 * kMiB, 1).note("optimizer=SGD");
    builder_.begin("forward").end("forward").begin("backward");
    labelled(3, "gradient", model);
    builder_.end("backward").begin("step");
    for (int part = 0; part < parts_; ++part) {
      builder_.begin("part " + std::to_string(part));
      if (part == 2) labelled(4, "optimizer_state", model);
      builder_.end("part " + std::to_string(part));
    }
    builder_.end("step").begin("forward").end("forward").exit(0);
    tests::write_file(scratch_.file("t.memtrace"), builder_.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch_.file("t.memtrace"));
    ProcessEnd end = read_end(*trace);
    analysis_ = analyze_process(std::move(trace), "main", std::move(end), Options{});
    explanation_ = explain(*analysis_, 0, std::nullopt);
    return explanation_;
  }
  std::string unwrapped() const {
    std::string text = explain_text(explanation_, std::nullopt, {});
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  }

  bool parameters_allocated_ = true;
  int parts_ = 0; // of the update

 private:
  static constexpr std::uint64_t kReservation = 0x100000000;

  void labelled(std::uint64_t address, const char* role, std::uint32_t site) {
    builder_.tensor(address, 16 * kMiB, site);
    builder_.put(format::EventType::label, 0, 0, {address, 16 * kMiB, builder_.text(role)});
  }

  tests::Builder builder_;
  tests::Scratch scratch_;
  std::unique_ptr<ProcessAnalysis> analysis_;
  Explanation explanation_;
};

TEST_F(ExplainText, OfAModelThatIsHalfLeadsWithBytesPerParameter) {
  EXPECT_TRUE(of(31 * kMiB).model_leads()) << "a reservation that was never touched is not alive";
  EXPECT_EQ(unwrapped().rfind("8.00 bytes per parameter kept, theory 8.00", 0), 0u) << unwrapped();
}

TEST_F(ExplainText, OfASmallModelLeadsWithSizes) {
  EXPECT_FALSE(of(600 * kMiB).model_leads());
  const std::string said = unwrapped();
  EXPECT_EQ(said.rfind("The model takes 32.00 MiB: parameters 16.00 MiB, gradients 16.00 MiB. Besides, "
                       "600.00 MiB are allocated. ",
                       0),
            0u)
      << said;
  const std::size_t alive = said.find("Alive after update 0, MiB"), table = said.find("train.py:9");
  const std::size_t figure = said.find(
      "The model is 5.1 % of what is alive, so this says little: 8.00 bytes per "
      "parameter kept, theory 8.00");
  EXPECT_LT(alive, table) << said;
  EXPECT_LT(table, figure) << "what is alive comes first: " << said;
  EXPECT_LT(figure, said.find("B/param  theory")) << said;
  EXPECT_NE(said.find("600.00  94.9   0.0 s       train.py:9", alive), std::string::npos) << said;
  EXPECT_EQ(said.find("Not per parameter"), std::string::npos) << "these rows are in the first table: " << said;
}

TEST_F(ExplainText, OfATinyModelHasNoTablePerParameter) {
  of(4000 * kMiB);
  const std::string said = unwrapped();
  EXPECT_NE(
      said.find(
          "The model is 0.8 % of what is alive, so this says little: 8.00 bytes per parameter kept, theory "
          "8.00. --format json has the rows"),
      std::string::npos)
      << said;
  EXPECT_EQ(said.find("B/param  theory"), std::string::npos) << said;
  EXPECT_EQ(said.find("No row has the parameters"), std::string::npos) << said;
}

TEST_F(ExplainText, NamesEachOfFourPartsOfAnUpdate) {
  parts_ = 4;
  of(4 * kMiB);
  for (const char* part : {"part 0 in step 0: +0.00 kept", "part 2 in step 0: +4.00 kept"})
    EXPECT_NE(unwrapped().find(part), std::string::npos) << part << unwrapped();
  EXPECT_EQ(unwrapped().find("more parts"), std::string::npos) << unwrapped();
}

TEST_F(ExplainText, OfMorePartsOnlyThoseThatKeptAreNamed) {
  parts_ = 5;
  of(4 * kMiB);
  EXPECT_EQ(unwrapped().find("part 0"), std::string::npos) << unwrapped();
  for (const char* said :
       {"part 2 in step 0: +4.00 kept", "4 more parts of step 0: 0.00 kept, 0.00 meanwhile each"})
    EXPECT_NE(unwrapped().find(said), std::string::npos) << said << unwrapped();
}

TEST_F(ExplainText, SaysThatParametersOfAMappedFileAreInNoRow) {
  parameters_allocated_ = false;
  of(4 * kMiB);
  EXPECT_NE(unwrapped().find("No row has the parameters, because no allocator of PyTorch made them."),
            std::string::npos)
      << unwrapped();
}

TEST_F(ExplainText, WhatIsBesideHasTheUsersLinesAndAddsUp) {
  const Explanation& out = of(30 * kMiB);
  std::uint64_t sum = 0;
  for (const replay::Holding& holding : out.beside_blocks) sum += holding.bytes;
  EXPECT_EQ(sum, out.beside);
  EXPECT_EQ(out.reserved, 64 * kMiB);
  EXPECT_EQ(out.beside - out.reserved, 30 * kMiB);
  const std::string said = unwrapped();
  const std::size_t table = said.find("Not per parameter, MiB");
  ASSERT_NE(table, std::string::npos) << said;
  EXPECT_NE(said.find("30.00 100.0   0.0 s  train.py:9", table), std::string::npos) << said;
  EXPECT_NE(said.find("Reserved and never touched, not counted above: 64.00 MiB", table), std::string::npos);
  const Json json = explain_json(out, std::nullopt);
  EXPECT_EQ(json["model_bytes"], out.model_sum());
  EXPECT_EQ(json["alive"], out.model_sum() + 30 * kMiB);
}

} // namespace
} // namespace memtrace::report
