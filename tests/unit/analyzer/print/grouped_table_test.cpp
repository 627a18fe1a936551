// Purpose: tests the rows of the peak by the module of a model and by role: equal layers, sums, width.
#include "report_fixture.h"

namespace memtrace::report {
namespace {

using format::EventType;
using tests::Builder;

constexpr std::uint64_t kMebibyte = 1 << 20;
constexpr std::size_t kColumnsOfTable = 100;

void block_of(Builder& builder, std::uint64_t address, std::uint64_t bytes, std::uint32_t stack,
              const std::string& module, std::uint16_t flags = format::kTensor) {
  const std::uint64_t text = module.empty() ? 0 : builder.text(module);
  builder.put(EventType::birth, static_cast<std::uint8_t>(format::Kind::heap), flags,
              {address, bytes, bytes, text << 32 | stack});
}

// 48 layers of 3 MiB in one line, and their parameters of 1 MiB, which are labelled. 7 MiB belong to the head,
// 5 MiB to no module.
Builder layers() {
  Builder builder;
  const std::uint32_t line = builder.python_frame("forward", "/home/u/train.py", 3, 0);
  const std::uint64_t role = builder.text("parameter");
  for (std::uint64_t i = 0; i < 48; ++i) builder.tensor(100 + i, kMebibyte, line);
  builder.begin("forward");
  for (std::uint64_t i = 0; i < 48; ++i) {
    const std::string number = std::to_string(i);
    const std::uint64_t path = builder.text("layers.*.mlp\x1F" + number);
    builder.put(EventType::label, 0, 0,
                {100 + i, kMebibyte,
                 std::uint64_t{builder.text("layers." + number + ".mlp.weight")} << 32 | role, path});
    block_of(builder, 200 + i, 3 * kMebibyte, line, "layers.*.mlp\x1F" + number);
  }
  block_of(builder, 300, 7 * kMebibyte, line, "head");
  block_of(builder, 301, 5 * kMebibyte, line, "");
  builder.end("forward").begin("backward").end("backward").exit(0);
  return builder;
}

// Returns the text with one blank for several.
std::string squeezed(std::string text) {
  const auto both_blank = [](char a, char b) { return a == ' ' && b == ' '; };
  text.erase(std::unique(text.begin(), text.end(), both_blank), text.end());
  return text;
}

TEST_F(Report, EqualLayersAreOneRowOfTheirModules) {
  Builder builder = layers();
  look.by = Grouping::module;
  const std::string shown = squeezed(text(builder));
  EXPECT_NE(shown.find("Alive at the peak, by module, MiB"), std::string::npos) << shown;
  EXPECT_TRUE(shown.find("\n layers.*.mlp x 48 192.00 94.1 activation 144.00, parameter 48.00\n") !=
              std::string::npos)
      << shown;
  EXPECT_TRUE(shown.find("\n head 7.00 3.4 activation 7.00\n") != std::string::npos) << shown;
  EXPECT_TRUE(shown.find("\n (no module) 5.00 2.5 activation 5.00\n") != std::string::npos) << shown;
  EXPECT_TRUE(shown.find("\n total 204.00 100.0 ") != std::string::npos) << shown;
  EXPECT_LT(shown.find("(no module)"), shown.find("\n total ")) << "it is what is left";
}

TEST_F(Report, RowsOfJsonHaveTheModule) {
  Builder builder = layers();
  const Json process = json(builder)["processes"][0];
  ASSERT_EQ(process["peaks"][1]["measure"], "tensor");
  std::map<std::string, std::int64_t> bytes;
  for (const Json& row : process["peaks"][1]["at_peak"]) {
    bytes[row["module"].dump()] += row["bytes"].get<std::int64_t>();
    if (row["module"] == "layers.*.mlp") {
      EXPECT_EQ(row["modules"], 48);
    }
  }
  EXPECT_EQ(bytes["\"layers.*.mlp\""], static_cast<std::int64_t>(192 * kMebibyte));
  EXPECT_EQ(bytes["\"head\""], static_cast<std::int64_t>(7 * kMebibyte));
  EXPECT_EQ(bytes["null"], static_cast<std::int64_t>(5 * kMebibyte));
}

TEST_F(Report, ByRoleNamesTheModules) {
  Builder builder = layers();
  look.by = Grouping::role;
  const std::string shown = squeezed(text(builder));
  EXPECT_NE(shown.find("Alive at the peak, by role, MiB"), std::string::npos) << shown;
  EXPECT_TRUE(shown.find("\n parameter 48.00 23.5 layers.*.mlp 48.00\n") != std::string::npos) << shown;
}

// Rows that are left out, the rest that no record has, and names that no terminal should get.
TEST_F(Report, ByModuleAddsUpAndFits) {
  Builder builder;
  for (std::uint64_t i = 0; i < 40; ++i)
    block_of(builder, 100 + i, (40 - i) * kMebibyte, 0, std::string(150, 'a') + "\x1B[31m" + std::to_string(i),
             0);
  builder.counters(9 * kMebibyte, 0, 1000, 0).exit(0);
  look.by = Grouping::module;
  look.screen.columns = kColumnsOfTable;
  const std::string shown = text(builder);
  EXPECT_EQ(shown.find('\x1B'), std::string::npos);
  std::string line;
  for (std::istringstream lines(shown); std::getline(lines, line);)
    EXPECT_LE(line.size(), kColumnsOfTable) << line;
  EXPECT_TRUE(shown.find("  28 more") != std::string::npos) << shown;
  EXPECT_TRUE(shown.find("406.00") != std::string::npos) << "28 + ... + 1\n" << shown;
  const std::size_t none = shown.find("(no module)");
  ASSERT_NE(none, std::string::npos);
  EXPECT_TRUE(shown.find("9.00", none) != std::string::npos) << shown;
}

// 16 sampled blocks of 2 KiB and an exact one of 30 MiB. A sampled one stands for 1 / (1 - exp(-1 / 256))
// blocks, so the 16 stand for 8.02 MiB. The 95 % interval is 3.92 to either side, as computed without memtrace.
Builder samples() {
  Builder builder;
  const std::uint32_t line = builder.python_frame("main", "/home/u/train.py", 3, 0);
  builder.counters(11 * kMebibyte - 16 * 2048, 0, 5000, 0);
  for (std::uint64_t i = 0; i < 16; ++i)
    builder.birth(200 + i, 2048, format::Kind::heap, format::kSampled, line, 2048, {2048, 0, 1, 0});
  builder.birth(100, 30 * kMebibyte, format::Kind::heap, 0, line); // the peak
  builder.exit(0);
  return builder;
}

TEST_F(Report, ByModuleMarksAnEstimate) {
  Builder builder = samples();
  look.by = Grouping::module;
  const std::string shown = squeezed(text(builder));
  EXPECT_TRUE(
      shown.find("\n (no module) 41.00 100.0 partly sampled, +-3.92: heap 38.02, small blocks 2.98\n") !=
      std::string::npos)
      << shown;
}

TEST_F(Report, ByRoleMarksAnEstimateAndSaysWhatTheRestIs) {
  Builder builder = samples();
  look.by = Grouping::role;
  const std::string shown = squeezed(text(builder));
  EXPECT_TRUE(shown.find("\n heap 38.02 92.7 partly sampled, +-3.92: (no module) 38.02\n") != std::string::npos)
      << shown;
  EXPECT_TRUE(shown.find("\n small blocks 2.98 7.3 counted, and not in the samples\n") != std::string::npos)
      << shown;
}

TEST_F(Report, ExactRowsByModuleHaveNoMark) {
  Builder builder = layers();
  look.by = Grouping::module;
  EXPECT_EQ(text(builder).find("sampled"), std::string::npos);
}

} // namespace
} // namespace memtrace::report
