// Purpose: the rows of phases and steps in the text, and what is said of them.
#include "report_fixture.h"

namespace memtrace::report {
namespace {

using tests::Builder;

// Returns the figures of the first line of the text that begins with `name`.
std::string row_of(const std::string& text, const std::string& name) {
  const std::size_t row = text.find("\n  " + name);
  return row == std::string::npos ? "" : text.substr(row + 1, text.find('\n', row + 1) - row - 1);
}

TEST_F(Report, WhatAPhaseTookAndGaveBackIsToldWithItsLine) {
  Builder builder = training();
  const std::string said = text(builder);
  const std::size_t at = said.find("Temporary in update");
  ASSERT_NE(at, std::string::npos) << said;
  EXPECT_NE(said.find("60.00 MiB", at), std::string::npos) << said;
  EXPECT_NE(said.find("optim/adam.py:790, alive", at), std::string::npos) << said;
  EXPECT_EQ(said.find("Temporary in forward"), std::string::npos) << "what it made outlives it";
}

TEST_F(Report, APeakOutsideTrainingHasARowAndTrainingItsLines) {
  Builder builder = prepared();
  const std::string out = text(builder);
  const std::string said = unwrapped(out);
  EXPECT_NE(
      said.find("No finding: memtrace found none of the causes that it looks for. It does not know whether "
                "your lines need what they hold."),
      std::string::npos)
      << out;
  EXPECT_NE(said.find("Largest at the peak, by your line: train.py:3 800.00 MiB (2 x 400.00 MiB) The peak is "
                      "outside the phases of training. While they run, 340.00 MiB are allocated at most, in "
                      "forward 0; largest then, "
                      "by your line: train.py:9 300.00 MiB, train.py:3 40.00 MiB"),
            std::string::npos)
      << out;
  const std::size_t row = out.find("\n  outside training");
  ASSERT_NE(row, std::string::npos) << out;
  EXPECT_LT(row, out.find("\n  forward"));
  const std::string cells = out.substr(row, out.find('\n', row + 1) - row);
  EXPECT_NE(cells.find(" 800.00 "), std::string::npos) << cells;
  EXPECT_NE(cells.find("heap 800.00"), std::string::npos) << cells;
}

// The reservation is in no level of the text. It came in the second step, so it is not in those of the first.
TEST_F(Report, AReservationThatWasNeverTouchedIsInNoLevel) {
  Builder builder;
  const auto step = [&builder] {
    builder.begin("forward").birth(4, 40 << 20).end("forward").begin("step").end("step").death(4);
  };
  builder.birth(3, 300 << 20);
  step();
  builder.begin("data").birth(5, 10 << 20).birth(0x100000000, 64 << 20, Kind::mmap_anon);
  builder.put(format::EventType::sample_touched, 0, 0,
              {0x100000000, builder.now(), 64 << 20, 0, builder.now()});
  builder.end("data");
  step();
  const std::string out = text(builder);
  EXPECT_NE(unwrapped(out).find("allocated 350.00 MiB at most, in forward 1"), std::string::npos) << out;
  EXPECT_NE(row_of(out, "forward                0 ").find(" 300.00   340.00   340.00   +40.00      0.00"),
            std::string::npos)
      << out;
  EXPECT_NE(row_of(out, "data                   0 ").find(" 300.00   310.00   310.00   +10.00      0.00"),
            std::string::npos)
      << out;
  EXPECT_NE(row_of(out, "forward                1 ").find(" 310.00   350.00   350.00   +40.00      0.00"),
            std::string::npos)
      << out;
  EXPECT_EQ(out.find("414.00"), std::string::npos) << out;
  EXPECT_NE(out.find("Reserved and never touched, not counted above: 64.00 MiB"), std::string::npos) << out;
}

// In each step, one of two equal tensors is a temporary. malloc rounds up now the one and now the other.
TEST_F(Report, WhatAPhaseIsMostlyDoesNotDependOnTheAllocatorsRounding) {
  Builder builder;
  builder.birth(3, 300 << 20);
  for (const std::uint64_t rounding : {0, 32}) {
    const auto tensor = [&builder](std::uint64_t address, std::uint64_t more) {
      builder.birth(address, (8 << 20) + more, Kind::heap, format::kTensor, 0, 8 << 20);
    };
    builder.begin("forward");
    tensor(10, rounding);
    tensor(11, 32 - rounding);
    builder.tensor_death(10).end("forward").begin("step").end("step").tensor_death(11);
  }
  const std::string out = text(builder);
  for (const char* const row : {"forward                0 ", "forward                1 "})
    EXPECT_NE(row_of(out, row).find("activation 8.00"), std::string::npos) << out;
}

TEST_F(Report, APeakInAPhaseHasNoRowOfItsOwn) {
  Builder builder = training();
  const std::string out = text(builder);
  EXPECT_EQ(out.find("\n  outside"), std::string::npos) << out;
  EXPECT_EQ(out.find("outside the phases"), std::string::npos) << out;
}

// The peak is after the phases of step 2: its row is below theirs.
TEST_F(Report, APeakBetweenPhasesIsARowOfItsStep) {
  Builder builder = training();
  builder.birth(0x9000000, 900 << 20);
  const std::string out = text(builder);
  const std::size_t row = out.find("\n  outside phases         2 ");
  ASSERT_NE(row, std::string::npos) << out;
  EXPECT_GT(row, out.find("\n  update                 2 "));
  EXPECT_LT(row, out.find("\n  forward                typical"));
  EXPECT_NE(unwrapped(out).find("The peak is outside the phases of training. While they run,"),
            std::string::npos)
      << out;
}

// Five equal steps: step 0 has the peak, and the rows of one step and the typical ones are enough. With 8 MiB
// more in step 2, the peak has figures of its own.
TEST_F(Report, APeakThatIsTypicalHasNoSecondRows) {
  const auto trained = [](std::uint64_t more_in_2) {
    Builder builder;
    builder.tensor(1, 100 << 20);
    for (std::uint64_t i = 0; i < 5; ++i) {
      const std::uint64_t more = i == 2 ? more_in_2 : i == 3 ? 16 : 0; // 16 bytes: the peak is in step 3
      builder.begin("forward").tensor(2, (40 << 20) + more).end("forward");
      builder.begin("step").end("step").tensor_death(2);
    }
    return builder.exit(0);
  };
  Builder equal = trained(0);
  const std::string out = text(equal);
  EXPECT_NE(unwrapped(out).find("tensors 140.00 MiB at most, in forward 3"), std::string::npos) << out;
  EXPECT_EQ(row_of(out, "forward              3 "), "") << out;
  EXPECT_NE(row_of(out, "forward              typical "), "") << out;
  EXPECT_NE(unwrapped(out).find("the peak has the same figures"), std::string::npos) << out;
  Builder higher = trained(8 << 20);
  const std::string other = text(higher);
  EXPECT_NE(row_of(other, "forward              2 ").find(" 148.00 "), std::string::npos) << other;
  EXPECT_EQ(other.find("the peak has the same"), std::string::npos) << other;
}

} // namespace
} // namespace memtrace::report
