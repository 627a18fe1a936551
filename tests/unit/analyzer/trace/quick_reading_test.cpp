// Purpose: a quick reading of a trace with keyframes is exact where it reads, and says what it left out.
#include <gtest/gtest.h>

#include "folder.h"
#include "tests/unit/sizes.h"

namespace memtrace::report {
namespace {

using format::EventType;
using format::halves;
using format::Kind;
using tests::Builder;
using tests::kMiB;
using tests::record_of;

constexpr std::size_t kRecordsOfStep = 8;
constexpr std::size_t kStretches = 5;

// A load of 100 MiB, then stretches of two steps each. In each step of a stretch, a forward makes `kMib` MiB
// that its backward frees. Stretch 3 has the most.
class QuickReading : public tests::Folder {
 protected:
  static constexpr std::uint64_t kMib[kStretches] = {20, 30, 25, 50, 10};

  void SetUp() override {
    site = builder.python_frame("build", "/home/u/model.py", 7, 0);
    builder.begin("load").tensor(0x1000, 100 * kMiB, site).end("load");
    const std::uint64_t loaded = builder.records(0)[1].stamp;
    for (std::size_t stretch = 0; stretch < kStretches; ++stretch) {
      begins[stretch] = stretch == 0 ? 0 : builder.records(0).size();
      states[stretch] = {
          record_of(EventType::window, 0, 0,
                    {halves(1, static_cast<std::uint32_t>(2 * stretch)), builder.now(), halves(1, 1), 0},
                    builder.now()),
          record_of(EventType::level, 0, 0, {100 * kMiB + 8, 100 * kMiB}, builder.now()),
          record_of(EventType::held, static_cast<std::uint8_t>(Kind::heap), format::kTensor,
                    {0x1000, 100 * kMiB + 8, 100 * kMiB, site, halves(builder.text("load"), 0), loaded},
                    builder.now())};
      for (std::uint64_t step = 2 * stretch; step < 2 * stretch + 2; ++step) {
        builder.begin("forward").tensor(0x10000000 + step, kMib[stretch] * kMiB, site).end("forward");
        builder.begin("backward").tensor_death(0x10000000 + step).end("backward");
        builder.begin("step").end("step");
      }
    }
    builder.exit(0);
    begins[kStretches] = builder.records(0).size();
    write(".coarse", rows(1));
  }
  // A row for the forwards of each step, as high as `times` what they made.
  std::string rows(std::int64_t times) {
    format::RollupHalf half{};
    half.phase_width = half.site_width = 1;
    half.last_step = 2 * kStretches - 1;
    std::vector<format::PhaseRow> out;
    for (std::uint64_t step = 0; step < 2 * kStretches; ++step) {
      format::PhaseRow row{};
      row.bucket = step;
      row.steps = 1;
      row.path = builder.text("forward");
      const std::int64_t peak = times * static_cast<std::int64_t>((100 + kMib[step / 2]) * kMiB);
      row.figures[static_cast<std::size_t>(format::Figure::live_peak)] = {peak + 16, peak + 16};
      row.figures[static_cast<std::size_t>(format::Figure::tensor_peak)] = {peak, peak};
      row.figures[static_cast<std::size_t>(format::Figure::count)] = {1, 1};
      out.push_back(row);
    }
    return tests::rollup_file(half, out, {});
  }
  void TearDown() override { trace::set_extent_of_command(trace::ReadExtent::all); }

  std::string events(std::size_t stretch) {
    return builder.segment(0, begins[stretch], begins[stretch + 1] - begins[stretch]);
  }
  std::string highest(std::size_t stretch) const {
    return tests::highest((100 + kMib[stretch]) * kMiB + 16, (100 + kMib[stretch]) * kMiB);
  }
  // The trace file. `between` is written before the events of stretch 2.
  std::string all(const std::string& between = "") {
    std::string out = builder.definitions();
    for (std::size_t stretch = 0; stretch < kStretches; ++stretch) {
      if (stretch != 0) out += highest(stretch - 1) + tests::keyframe(states[stretch]);
      if (stretch == 2) out += between;
      out += events(stretch);
    }
    return out;
  }
  Json quick() {
    trace::set_extent_of_command(trace::ReadExtent::quick);
    return process();
  }
  // A block of a peak may live on where nothing is read, so its lifetime there is not the whole one.
  static Json figures(const Json& process, int step) {
    Json out = row(process, "forward", step);
    out.erase("at_peak");
    out["tensor"].erase("at_peak");
    return out;
  }
  static Json peak(const Json& process, const std::string& measure) {
    for (const Json& one : process["peaks"]) {
      if (one["memory"] == "host" && one["measure"] == measure) return one;
    }
    ADD_FAILURE() << "no peak of " << measure;
    return {};
  }

  Builder builder;
  std::uint32_t site = 0;
  std::size_t begins[kStretches + 1] = {};
  std::vector<format::RingRecord> states[kStretches];
};

// Rows of steps whose events are all there are not needed. They once cost a report its savings and next peak.
TEST_F(QuickReading, AFullReadingTakesNeitherKeyframesNorRows) {
  write(".memtrace", builder.definitions() + builder.segment(0, 0, begins[kStretches]));
  write(".coarse", "");
  const std::string plain_text = text();
  Json plain = process();
  for (auto& state : states) // nonsense, to see that it is not read
    state[1] = record_of(EventType::level, 0, 0, {1ull << 40, 1ull << 40});
  write(".memtrace", all());
  write(".coarse", rows(7));
  Json with = process();
  EXPECT_EQ(text(), plain_text);
  for (Json* one : {&plain, &with}) (*one)["trace"].erase("bytes");
  EXPECT_EQ(with, plain);
  EXPECT_EQ(with["trace"]["left_out_events"], 0);
}

TEST_F(QuickReading, WithoutRowsNothingIsLeftOut) {
  write(".memtrace", all());
  write(".coarse", "");
  const Json out = quick();
  EXPECT_EQ(out["trace"]["left_out_events"], 0);
  EXPECT_EQ(out["trace"]["events"], begins[kStretches]);
}

TEST_F(QuickReading, TheHighestLevelOfADeviceIsReadToo) {
  std::string out = builder.definitions() + events(0);
  for (std::size_t stretch = 1; stretch < kStretches; ++stretch) {
    if (stretch != 2) out += highest(stretch - 1);
    if (stretch == 2) { // the end of stretch 1
      const auto device = static_cast<std::uint16_t>(1 << format::kMemoryShift);
      out += tests::encode({record_of(EventType::level, 0, 0, {100 * kMiB, 100 * kMiB}),
                            record_of(EventType::level, 0, device, {0, 0, 7 * kMiB})},
                           0, format::Source::keyframe, 0);
    }
    out += tests::keyframe(states[stretch]) + events(stretch);
  }
  write(".memtrace", out);
  EXPECT_EQ(quick()["trace"]["left_out_events"], 2 * kRecordsOfStep) << "stretch 2 alone";
}

TEST_F(QuickReading, ReadsTheFirstTheHighestAndTheLastStretch) {
  write(".memtrace", all());
  options.steps.all = true;
  const Json full = process(), out = quick();
  EXPECT_EQ(out["trace"]["left_out_events"], 4 * kRecordsOfStep) << "two stretches of two steps";
  EXPECT_EQ(out["trace"]["events"].get<std::size_t>() + 4 * kRecordsOfStep,
            full["trace"]["events"].get<std::size_t>());
  EXPECT_EQ(out["trace"]["lost_events"], 0);
  EXPECT_EQ(out["trace"]["unknown_deaths"], 0);
  for (const char* const measure : {"live", "tensor"}) {
    EXPECT_EQ(peak(out, measure)["bytes"], peak(full, measure)["bytes"]);
    EXPECT_EQ(peak(out, measure)["step"], 6);
    EXPECT_EQ(peak(out, measure)["at_peak"], peak(full, measure)["at_peak"]);
  }
  for (const int step : {0, 7, 9}) // step 1 may go on in what is left out
    EXPECT_EQ(figures(out, step), figures(full, step)) << step;
  EXPECT_NE(text().find("--quick left out 32 of 84 events."), std::string::npos) << text();
}

TEST_F(QuickReading, AStretchWithoutItsHighestLevelsIsRead) {
  std::string out = builder.definitions() + events(0) + tests::highest(kMiB << 10, kMiB << 10) +
                    tests::keyframe(states[1]) + events(1) + tests::keyframe(states[2]) + events(2) +
                    highest(2) + tests::keyframe(states[3]) + events(3);
  write(".memtrace", out + events(4));
  EXPECT_EQ(quick()["trace"]["left_out_events"], 2 * kRecordsOfStep) << "stretch 2 alone";
}

TEST_F(QuickReading, NothingBeginsAtAKeyframeThatIsNotWhole) {
  std::string out = builder.definitions();
  for (std::size_t stretch = 0; stretch < kStretches; ++stretch) {
    if (stretch != 0) out += highest(stretch - 1) + tests::keyframe(states[stretch], 0);
    out += events(stretch);
  }
  write(".memtrace", out);
  const Json read = quick();
  EXPECT_EQ(read["trace"]["left_out_events"], 0);
  EXPECT_EQ(read["trace"]["events"], begins[kStretches]);
}

TEST_F(QuickReading, DefinitionsOfAStretchThatIsLeftOutAreRead) {
  // A text that only such a segment defines: the name of the parameters' type, a fact of the process.
  const std::size_t before = builder.definitions().size();
  const std::string plain = all();
  EXPECT_EQ(plain.compare(0, before, builder.definitions()), 0);
  format::RingRecord note = record_of(EventType::parameters, 0, 0, {1234, 1000, 4936, 7});
  write(".memtrace", all(tests::encode({note}, 0, format::Source::definitions, 1u << 20)));
  EXPECT_EQ(quick()["parameters"]["count"], 1234);
}

TEST_F(QuickReading, ADamagedFileIsReadWhole) {
  for (const std::string& part : {tests::keyframe(states[3]), highest(3)}) {
    std::string damaged = all();
    const std::size_t at = damaged.find(part);
    ASSERT_NE(at, std::string::npos);
    damaged[at + sizeof(format::SegmentHeader) + 5] ^= 1;
    write(".memtrace", damaged);
    const Json out = quick();
    EXPECT_EQ(out["trace"]["damaged_bytes"], part.size());
    EXPECT_EQ(out["trace"]["left_out_events"], 0);
    EXPECT_EQ(peak(out, "tensor")["bytes"], 150 * kMiB);
  }
}

// As a kill leaves it.
TEST_F(QuickReading, ATornTailLeavesStretchesOut) {
  const std::string whole = all();
  write(".memtrace", whole.substr(0, whole.size() - 5));
  const Json out = quick();
  EXPECT_GT(out["trace"]["damaged_bytes"], 0);
  EXPECT_EQ(out["trace"]["left_out_events"], 4 * kRecordsOfStep);
  EXPECT_EQ(peak(out, "tensor")["bytes"], 150 * kMiB);
}

// Only the stretches that are read are verified.
TEST_F(QuickReading, DamageInWhatIsReadIsSaid) {
  std::string damaged = all();
  const std::size_t at = damaged.find(events(3));
  damaged[at + sizeof(format::SegmentHeader) + 5] ^= 1;
  write(".memtrace", damaged);
  const Json out = quick();
  EXPECT_EQ(out["trace"]["damaged_bytes"], events(3).size());
  EXPECT_EQ(out["trace"]["left_out_events"], 4 * kRecordsOfStep);
}

TEST_F(QuickReading, WindowsHaveStretchesToo) {
  std::string trace = builder.definitions() + events(0) + highest(0);
  auto first = states[1];
  first[0] = record_of(EventType::window, 0, 0, {halves(1, 2), builder.now(), halves(1, 1), 0}, first[0].stamp);
  std::string window = tests::snapshot(first) + events(1) + highest(1) + tests::keyframe(states[2]) +
                       events(2) + highest(2) + tests::keyframe(states[3]) + events(3) + highest(3);
  auto last = states[4];
  last[0] = record_of(EventType::window, 0, 0, {halves(2, 8), builder.now(), halves(1, 1), 0}, last[0].stamp);
  write(".memtrace", trace);
  write(".window-3", window);
  write(".window-0", tests::snapshot(last) + events(4));
  const Json full = process(), out = quick();
  EXPECT_EQ(full["trace"]["events"], begins[kStretches]);
  EXPECT_EQ(out["trace"]["left_out_events"], 4 * kRecordsOfStep);
  EXPECT_EQ(out["trace"]["damaged_bytes"], 0);
  EXPECT_EQ(peak(out, "tensor")["bytes"], 150 * kMiB);
  EXPECT_EQ(peak(out, "tensor")["at_peak"], peak(full, "tensor")["at_peak"]);
}

} // namespace
} // namespace memtrace::report
