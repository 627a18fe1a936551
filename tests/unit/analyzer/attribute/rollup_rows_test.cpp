// Purpose: steps that were folded away are answered by their bucket, and hostile rows by nothing worse.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "folder.h"
#include "tests/unit/seed.h"
#include "tests/unit/sizes.h"

namespace memtrace::report {
namespace {

using format::Figure;
using format::Kind;
using format::PhaseRow;
using format::RollupHalf;
using format::SiteRow;
using tests::Builder;
using tests::rollup_file;

using tests::kSignedMiB;

void set(PhaseRow& row, Figure which, std::int64_t max, std::int64_t min) {
  row.figures[static_cast<std::size_t>(which)] = {max, min};
}

// Two steps in detail, then rows: steps 2 to 999 in buckets of 256, sites in buckets of 512.
class Buckets : public tests::Folder {
 protected:
  void SetUp() override {
    site = builder.python_frame("layer", "/home/u/model.py", 12, 0);
    for (std::uint64_t i = 0; i < 2; ++i) {
      builder.begin("forward").tensor(0x1000, 10 * kSignedMiB, site).end("forward");
      builder.begin("backward").tensor_death(0x1000).end("backward").begin("step").end("step");
    }
    builder.begin("forward"); // of step 2, in which the trace file ends
    head = builder.records(0).size();
    forward = builder.text("forward");
    half.phase_width = 256;
    half.site_width = 512;
    half.first_step = 2;
    half.last_step = 999;
    for (std::uint64_t bucket = 0; bucket < 4; ++bucket) {
      PhaseRow row{};
      row.bucket = bucket;
      row.steps = 256;
      row.path = forward;
      const auto b = static_cast<std::int64_t>(bucket);
      set(row, Figure::live_entry, 5, 4);
      set(row, Figure::live_peak, (20 + b) * kSignedMiB, 8 * kSignedMiB);
      set(row, Figure::live_net, 3, -3);
      set(row, Figure::tensor_peak, (19 + b) * kSignedMiB, 7 * kSignedMiB);
      set(row, Figure::allocated, 30 * kSignedMiB, 9 * kSignedMiB);
      set(row, Figure::allocations, 3, 1);
      set(row, Figure::count, 2, 1);
      phases.push_back(row);
      row.memory = format::kResident;
      for (std::size_t i = 0; i < 9; ++i) row.figures[i] = {100 + static_cast<std::int64_t>(i), 50};
      phases.push_back(row);
    }
    phases.push_back({}); // an empty place of the table
    sites.push_back({0, forward, site, static_cast<std::uint8_t>(Kind::heap), 0, format::kTensor, 0, 40,
                     400 * kSignedMiB, 5 * kSignedMiB, 20 * kSignedMiB});
    sites.push_back({0, forward, 0, static_cast<std::uint8_t>(Kind::heap), 0, 0, 0, 3, 90, 20, 40});
    sites.push_back(
        {1, forward, site, static_cast<std::uint8_t>(Kind::heap), 0, format::kTensor, 0, 7, 70, 10, 10});
    sites.push_back({});
  }
  // And a window at the end, which holds step 900 from its begin on.
  void write_all(const std::string& coarse) {
    for (std::uint64_t i = 0; i < 2; ++i) {
      builder.end("forward").begin("backward").end("backward").begin("step").end("step").begin("forward");
    }
    builder.exit(0);
    write(".memtrace", builder.definitions() + builder.segment(0, 0, head));
    const auto& all = builder.records(0);
    const std::vector<format::RingRecord> after(all.begin() + static_cast<std::ptrdiff_t>(head), all.end());
    const auto open = tests::record_of(format::EventType::open_phase, 0, format::kAuto,
                                       {format::halves(0, forward), format::halves(0, 999), 0});
    write(".window-0",
          tests::snapshot(
              {tests::record_of(format::EventType::window, 0, 0, {format::halves(9, 999), 0, 0, 0}), open}) +
              tests::encode(after, 0, format::Source::ring, head + 50000));
    write(".coarse", coarse);
  }
  Builder builder;
  std::uint32_t site = 0, forward = 0;
  std::size_t head = 0;
  RollupHalf half{};
  std::vector<PhaseRow> phases;
  std::vector<SiteRow> sites;
};

TEST_F(Buckets, DoNotKnowWhatACardShowed) {
  builder.put(format::EventType::sample_device, 0, 1 << format::kMemoryShift,
              {500 * kSignedMiB, 500 * kSignedMiB, 1000 * kSignedMiB, 0, 0, 0});
  head = builder.records(0).size();
  write_all(rollup_file(half, phases, sites));
  const Json out = process();
  const auto used = std::find_if(out["peaks"].begin(), out["peaks"].end(),
                                 [](const Json& peak) { return peak["measure"] == "used"; });
  ASSERT_NE(used, out["peaks"].end());
  EXPECT_EQ((*used)["bytes"], 500 * kSignedMiB);
  EXPECT_EQ((*used)["not_known_in"], (Json{2, 998}));
  std::string text_on_a_line = text();
  std::replace(text_on_a_line.begin(), text_on_a_line.end(), '\n', ' ');
  EXPECT_NE(text_on_a_line.find("of steps 2 to 998, which are kept as rows, what it showed is not known"),
            std::string::npos)
      << text_on_a_line;
}

TEST_F(Buckets, AnswerEachStepUnderItsOwnNumber) {
  write_all(rollup_file(half, phases, sites, 1, 123456, 9 * kSignedMiB));
  options.steps.range = replay::StepRange{0, 600};
  const Json out = process();
  EXPECT_EQ(out["trace"]["coarsened_events"], 123456);
  EXPECT_EQ(out["trace"]["own_bytes"], 9 * kSignedMiB);
  EXPECT_EQ(out["trace"]["lost_events"], 0);
  EXPECT_EQ(out["trace"]["bytes"], file_bytes());
  EXPECT_EQ(out["trace"]["buckets"], (Json{{"steps", {2, 998}}, {"count", 4}, {"width", 256}}));
  EXPECT_EQ(row(out, "forward", 1)["bucket"], (Json{1, 1}));
  EXPECT_EQ(row(out, "forward", 1)["peak_live"], 10 * kSignedMiB + 8);
  const Json at = row(out, "forward", 500);
  EXPECT_EQ(at["bucket"], (Json{256, 511}));
  EXPECT_EQ(row(out, "forward", 2)["bucket"], (Json{2, 255})) << "from the first that was folded";
  EXPECT_EQ(at["peak_live"], 21 * kSignedMiB);
  EXPECT_EQ(at["min"]["peak_live"], 8 * kSignedMiB);
  EXPECT_EQ(at["net"], 3);
  EXPECT_EQ(at["min"]["net"], -3);
  EXPECT_EQ(at["tensor"]["peak_live"], 20 * kSignedMiB);
  EXPECT_EQ(at["min"]["tensor"]["peak_live"], 7 * kSignedMiB);
  EXPECT_EQ(at["allocated"], 30 * kSignedMiB);
  EXPECT_EQ(at["min"]["allocations"], 1);
  EXPECT_EQ(at["rss"]["peak"]["shmem"], 108);
  EXPECT_EQ(at["min"]["rss"]["entry"]["anon"], 50);
  EXPECT_EQ(at["at_peak"], Json::array());
  EXPECT_EQ(at["tensor"]["at_peak"], Json::array());
  for (const auto& [key, value] : at["min"].items()) EXPECT_TRUE(at.contains(key)) << key;
  EXPECT_EQ(at["allocated_by"].size(), 2u);
  EXPECT_EQ(at["allocated_by"][0]["bytes"], 400 * kSignedMiB);
  EXPECT_EQ(at["allocated_by"][0]["bucket"], (Json{2, 511})) << "sites are folded into wider buckets";
  EXPECT_EQ(at["allocated_by"][0]["min"], 5 * kSignedMiB);
  EXPECT_EQ(at["allocated_by"][0]["site"]["frames"][0]["function"], "layer");
  EXPECT_EQ(at["allocated_by"][1]["site"], nullptr);
  options.top = 1;
  EXPECT_EQ(row(process(), "forward", 500)["allocated_by"][1]["count"], 3);
}

TEST_F(Buckets, HaveOneRowEachAmongAllSteps) {
  write_all(rollup_file(half, phases, sites));
  options.steps.all = true;
  const Json out = process();
  std::map<std::int64_t, int> rows;
  for (const Json& row : out["phases"]) {
    if (row["memory"] == "host" && row["phase"] == "forward") ++rows[row["step"].get<std::int64_t>()];
  }
  // Steps 0 and 1, four buckets, and in the window: 998 is cut off, 999 whole, and 1000 begins.
  EXPECT_EQ(rows, (std::map<std::int64_t, int>{
                      {0, 1}, {1, 1}, {2, 1}, {256, 1}, {512, 1}, {768, 1}, {999, 1}, {1000, 1}}));
}

TEST_F(Buckets, TellAPeakThatNoEventIsLeftOf) {
  write_all(rollup_file(half, phases, sites));
  const Json out = process();
  ASSERT_FALSE(out["peaks"].empty());
  for (const Json& peak : out["peaks"]) {
    if (peak["measure"] != "live") continue;
    EXPECT_EQ(peak["bytes"], 23 * kSignedMiB);
    EXPECT_EQ(peak["bucket"], (Json{768, 999}));
    EXPECT_EQ(peak["at_peak"], Json::array());
    EXPECT_EQ(peak["t"], nullptr);
  }
  const std::string report = text();
  EXPECT_NE(report.find("steps 2 to 998 are kept as 4 rows of 256 steps"), std::string::npos) << report;
  EXPECT_NE(report.find("in one of the steps 768 to 999"), std::string::npos) << report;
}

TEST_F(Buckets, HostileFilesNeverCrash) {
  const std::string good = rollup_file(half, phases, sites, 0, 5, 5);
  write_all(good);
  std::mt19937 random(tests::seed(3));
  const auto wild = [&random] {
    const std::uint64_t values[] = {0,
                                    1,
                                    ~std::uint64_t{0},
                                    ~std::uint64_t{0} >> 1,
                                    std::uint64_t{1} << 63,
                                    (std::uint64_t{random()} << 32) | random(),
                                    random() % 2000};
    return values[random() % std::size(values)];
  };
  for (int round = 0; round < 150; ++round) {
    std::string bytes = good;
    if (round % 5 == 0) bytes.resize(random() % bytes.size());
    for (int i = 0; i < 5 && bytes.size() > 8; ++i) {
      const std::uint64_t value = wild();
      // Mostly in the headers and the first rows, where it tells.
      const std::size_t place = random() % 3 == 0   ? random() % 96
                                : random() % 2 == 0 ? format::kPage + random() % 48
                                                    : format::kPage + 48 + random() % 3000;
      if (place + 8 <= bytes.size()) std::memcpy(&bytes[place / 8 * 8], &value, sizeof value);
    }
    write(".coarse", bytes);
    options.steps = {};
    options.steps.all = round % 3 == 0;
    if (round % 3 == 1) options.steps.range = replay::StepRange{900 + wild() % 100, 1000};
    const Json out = process();
    EXPECT_FALSE(out.dump().empty());
    EXPECT_FALSE(text().empty());
    EXPECT_EQ(out["trace"]["lost_events"], 0);
  }
}

TEST_F(Buckets, AFileThatMakesNoSenseIsDamage) {
  std::string bytes = rollup_file(half, phases, sites, 0, 5, 5);
  bytes[0] = 'X';
  write_all(bytes);
  const Json out = process();
  EXPECT_EQ(out["trace"]["damaged_bytes"], bytes.size());
  EXPECT_EQ(out["trace"]["damaged_file"], "t.coarse");
  EXPECT_EQ(out["trace"]["buckets"], "missing");
  EXPECT_EQ(out["trace"]["coarsened_events"], 50000) << "by the sequence numbers";
}

// A step count without end must not be walked through.
TEST_F(Buckets, ARangeWithoutEndIsCut) {
  half.last_step = std::uint64_t{1} << 61;
  half.phase_width = std::uint64_t{1} << 40;
  phases.resize(1);
  phases[0].bucket = 1 << 20;
  write_all(rollup_file(half, phases, {}));
  options.steps.range = replay::StepRange{std::uint64_t{1} << 60, ~std::uint64_t{0}};
  EXPECT_TRUE(analysis().shown.cut);
  EXPECT_LE(analysis().shown.rows.size(), replay::kMostSteps);
}

} // namespace
} // namespace memtrace::report
