// Purpose: sampled blocks move no level, and what they stand for is right on average.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "folder.h"
#include "tests/unit/seed.h"

namespace memtrace::report {
namespace {

using format::Kind;
using tests::Builder;

constexpr double kEvery = 524288; // of the builder's process

class Sampled : public tests::Folder {
 protected:
  Json peak(Builder& builder) {
    write(".memtrace", builder.bytes());
    const Json out = process();
    EXPECT_EQ(out["peaks"][0]["measure"], "live");
    EXPECT_EQ(out["trace"]["unknown_deaths"], 0);
    return out["peaks"][0];
  }
};

TEST_F(Sampled, CountInNoLevelAndStandForOthers) {
  Builder builder;
  const std::uint32_t a = builder.python_frame("a", "/home/u/a.py", 1, 0);
  const std::uint32_t b = builder.python_frame("b", "/home/u/b.py", 2, 0);
  builder.counters(3'000'000, 0, 40000, 0);
  // Each record carries what was added since the last one, itself among it.
  builder.birth(0x10, 100, Kind::heap, format::kSampled, a, 96, {1000, 0, 10, 0});
  builder.birth(0x20, 3000, Kind::heap, format::kSampled, a, 2990, {5000, 0, 3, 0});
  builder.birth(0x30, 64, Kind::heap, format::kSampled, b, 64, {64, 0, 1, 0});
  builder.death(0x30, 64, Kind::heap, format::kSampled, {0, 64, 0, 1});
  builder.birth(0x40, 8192); // the peak
  builder.death(0x20, 3000, Kind::heap, format::kSampled, {0, 500'000, 0, 100});
  const Json at = peak(builder);
  EXPECT_EQ(at["bytes"], 3'000'000 + 1000 + 5000 + 8192);
  const auto chance = [](double size) { return 1 - std::exp(-size / kEvery); };
  const double w1 = 100 / chance(100), w2 = 3000 / chance(3000);
  bool seen = false;
  std::int64_t sum = 0;
  for (const Json& row : at["at_peak"]) {
    sum += row["bytes"].get<std::int64_t>();
    if (row["how"] != "sampled") {
      EXPECT_FALSE(row.contains("error"));
      continue;
    }
    EXPECT_FALSE(seen) << "b's block is dead";
    seen = true;
    EXPECT_NEAR(row["bytes"].get<double>(), w1 + w2, 1);
    EXPECT_NEAR(row["blocks"].get<double>(), 1 / chance(100) + 1 / chance(3000), 1);
    EXPECT_NEAR(row["error"].get<double>(),
                1.96 * std::sqrt(w1 * w1 * (1 - chance(100)) + w2 * w2 * (1 - chance(3000))), 1);
    EXPECT_EQ(row["site"]["frames"][0]["function"], "a");
  }
  EXPECT_TRUE(seen);
  EXPECT_EQ(sum, at["bytes"]) << "a row without site completes it";
  const std::string report = text();
  EXPECT_NE(report.find("sampled, +-"), std::string::npos) << report;
}

TEST_F(Sampled, MayOvershootAndSaysSo) {
  Builder builder;
  builder.birth(0x10, 64, Kind::heap, format::kSampled, 0, 64, {64, 0, 1, 0});
  builder.birth(0x40, 8192);
  const Json at = peak(builder);
  EXPECT_EQ(at["bytes"], 64 + 8192);
  EXPECT_LT(at["at_peak"].back()["bytes"].get<std::int64_t>(), -500'000);
  EXPECT_EQ(at["at_peak"].back()["site"], nullptr);
  EXPECT_NE(text().find("sampling error"), std::string::npos);
}

// The writer's rule, drawn a thousand times: on average the estimate is the truth, and the interval holds it.
TEST_F(Sampled, AreUnbiased) {
  std::mt19937_64 random(tests::seed(11));
  std::uniform_real_distribution<double> uniform;
  double sum = 0;
  int held = 0;
  constexpr int kRounds = 60;
  constexpr std::uint64_t kTruth = 40ull * (1024 * 100 + 512 * 300 + 4000 * 50);
  for (int round = 0; round < kRounds; ++round) {
    Builder builder;
    builder.counters(kTruth, 0, 40 * 450, 0);
    std::uint64_t address = 0x1000;
    for (const auto& [size, number] : {std::pair{1024, 4000}, {512, 12000}, {4000, 2000}}) {
      for (int i = 0; i < number; ++i) {
        address += 4096;
        if (uniform(random) < 1 - std::exp(-size / kEvery))
          builder.birth(address, static_cast<std::uint64_t>(size), Kind::heap, format::kSampled);
      }
    }
    builder.birth(0x10, 8192);
    const Json at = peak(builder);
    for (const Json& row : at["at_peak"]) {
      if (row["how"] != "sampled") continue;
      const double bytes = row["bytes"].get<double>();
      sum += bytes;
      held += std::abs(bytes - static_cast<double>(kTruth)) <= row["error"].get<double>() ? 1 : 0;
    }
  }
  // One round's standard deviation is about 17 % here: of the mean of 60 rounds 2.2 %.
  EXPECT_NEAR(sum / kRounds, static_cast<double>(kTruth), 0.08 * static_cast<double>(kTruth));
  EXPECT_GE(held, kRounds * 85 / 100);
}

TEST_F(Sampled, HostileSizesAreBounded) {
  Builder builder;
  for (std::uint64_t i = 0; i < 100; ++i)
    builder.birth(i, i % 2 == 0 ? ~std::uint64_t{0} : 0, i % 3 == 0 ? Kind::mmap_anon : Kind::heap,
                  static_cast<std::uint16_t>(format::kSampled | i % 32));
  write(".memtrace", builder.bytes());
  EXPECT_FALSE(process().dump().empty());
}

} // namespace
} // namespace memtrace::report
