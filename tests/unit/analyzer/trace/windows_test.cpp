// Purpose: windows beside a trace file: merged as one where nothing is missing, begun anew where something is.
#include <gtest/gtest.h>

#include <random>

#include "folder.h"
#include "tests/unit/seed.h"
#include "tests/unit/sizes.h"

namespace memtrace::report {
namespace {

using format::EventType;
using format::halves;
using format::Kind;
using tests::Builder;
using tests::record_of;

using tests::kMiB;

// Steps in which a forward makes `mib` MiB that its backward frees; as many records each.
void train(Builder& builder, std::uint64_t from, std::uint64_t to, std::uint64_t mib) {
  for (std::uint64_t i = from; i < to; ++i) {
    builder.begin("forward").tensor(0x10000000 + i, mib * kMiB).end("forward");
    builder.begin("backward").tensor_death(0x10000000 + i).end("backward");
    builder.begin("step").end("step");
  }
}
constexpr std::size_t kPerStep = 8; // records of train()

using Windows = tests::Folder;

TEST_F(Windows, ThatFollowEachOtherReadAsOne) {
  Builder builder;
  builder.begin("load").tensor(1, 100 * kMiB).end("load");
  train(builder, 0, 40, 20);
  builder.exit(0);
  write(".memtrace", builder.bytes());
  Json whole = process();
  const std::size_t all = builder.records(0).size();
  ASSERT_EQ(all, 3 + 40 * kPerStep + 1);
  write(".memtrace", builder.definitions() + builder.segment(0, 0, 100));
  // What the snapshots say is wrong, to see that nobody asks them.
  const auto nonsense = [](std::uint32_t number) {
    return tests::snapshot({record_of(EventType::window, 0, 0, {halves(number, 77)}),
                            record_of(EventType::level, 0, 0, {1ull << 40, 1ull << 40})});
  };
  write(".window-1", nonsense(1) + builder.segment(0, 100, 150)); // files are used in any order
  write(".window-0", nonsense(2) + builder.segment(0, 250, all));
  Json parts = process();
  EXPECT_EQ(parts["trace"]["events"], all);
  EXPECT_EQ(parts["trace"]["lost_events"], 0);
  EXPECT_EQ(parts["trace"]["coarsened_events"], 0);
  EXPECT_EQ(parts["trace"]["damaged_bytes"], 0);
  EXPECT_EQ(parts["trace"]["bytes"], file_bytes());
  parts["trace"].erase("bytes");
  whole["trace"].erase("bytes");
  EXPECT_EQ(parts, whole);
}

// By hand. The trace file ends within step 1, the window begins within step 5. Of 0x1000, which load made, and
// of 0x2000, which step 5 made before the window, the snapshot knows; 3 MiB more it does not list, and 1 MiB is
// small.
class Gap : public Windows {
 protected:
  void SetUp() override {
    site = builder.python_frame("build", "/home/u/model.py", 7, 0);
    builder.begin("load").tensor(0x1000, 100 * kMiB, site).end("load");
    train(builder, 0, 1, 20);
    builder.begin("forward"); // of step 1
    head = builder.records(0).size();
    const std::uint64_t born = builder.now();
    builder.wait(1'000'000'000);
    const std::uint32_t load = builder.text("load"), forward = builder.text("forward");
    states = {
        record_of(EventType::window, 0, 0, {halves(3, 6), builder.now(), halves(0, 1), 1}, builder.now()),
        record_of(EventType::level, 0, 0, {116 * kMiB, 113 * kMiB, 0, kMiB}, builder.now()),
        record_of(EventType::flows, 0, 0, {0, 5 * kMiB, 4 * kMiB, 10, 8}, builder.now()),
        record_of(EventType::open_phase, 0, format::kAuto, {halves(0, forward), halves(0, 6), builder.now()},
                  builder.now()),
        record_of(EventType::held, static_cast<std::uint8_t>(Kind::heap), format::kTensor,
                  {0x1000, 100 * kMiB + 8, 100 * kMiB, site, halves(load, 0), born}, builder.now()),
        record_of(EventType::held, static_cast<std::uint8_t>(Kind::heap), format::kTensor,
                  {0x2000, 10 * kMiB + 8, 10 * kMiB, site, halves(forward, 6), builder.now()}, builder.now()),
    };
    builder.end("forward"); // of step 5
    builder.begin("backward").tensor_death(0x2000).end("backward").begin("step").end("step");
    train(builder, 6, 8, 30);
    builder.begin("forward").tensor(0x9000, 40 * kMiB, site).end("forward");
    builder.begin("backward").tensor_death(0x9000).death(0x3000, 3 * kMiB, Kind::heap, format::kTensor);
    builder.end("backward").begin("step").end("step").exit(0);
  }
  // As if the thread had recorded 500 events in between.
  void write_all(const std::string& states_bytes) {
    write(".memtrace", builder.definitions() + builder.segment(0, 0, head));
    const auto& all = builder.records(0);
    const std::vector<format::RingRecord> after(all.begin() + static_cast<std::ptrdiff_t>(head), all.end());
    write(".window-2", states_bytes + tests::encode(after, 0, format::Source::ring, head + 500));
  }
  Builder builder;
  std::uint32_t site = 0;
  std::size_t head = 0;
  std::vector<format::RingRecord> states;
};

TEST_F(Gap, BeginsAnewFromTheSnapshot) {
  write_all(tests::snapshot(states));
  options.steps.all = true;
  const Json out = process();
  EXPECT_EQ(out["trace"]["lost_events"], 0);
  EXPECT_EQ(out["trace"]["coarsened_events"], 500) << "by the sequence numbers, for there are no rows";
  EXPECT_EQ(out["trace"]["buckets"], "missing");
  EXPECT_EQ(out["trace"]["unknown_deaths"], 0);
  EXPECT_EQ(out["trace"]["damaged_bytes"], 0);
  // Step 5 began before the window: its forward was open, so its exit is known and its entry is the snapshot's.
  EXPECT_EQ(row(out, "backward", 5)["tensor"]["entry_live"], 113 * kMiB);
  EXPECT_EQ(row(out, "backward", 5)["tensor"]["exit_live"], 103 * kMiB);
  EXPECT_TRUE(row(out, "forward", 5)["partial"].get<bool>());
  EXPECT_EQ(row(out, "forward", 6)["tensor"]["peak_live"], 133 * kMiB);
  EXPECT_EQ(row(out, "forward", 8)["tensor"]["peak_live"], 143 * kMiB);
  EXPECT_EQ(row(out, "backward", 8)["tensor"]["exit_live"], 100 * kMiB)
      << "what was not listed carries its size";
  EXPECT_EQ(row(out, "backward", 8)["exit_live"], 116 * kMiB - (10 * kMiB + 8) - 3 * kMiB);
}

TEST_F(Gap, BlocksThatAreHeldKeepTheirBirth) {
  write_all(tests::snapshot(states));
  const Json out = process();
  for (const Json& peak : out["peaks"]) {
    if (peak["measure"] != "tensor") continue;
    EXPECT_EQ(peak["bytes"], 143 * kMiB);
    EXPECT_EQ(peak["step"], 8);
    const Json& first = peak["at_peak"][0];
    EXPECT_EQ(first["bytes"], 100 * kMiB);
    EXPECT_EQ(first["born_phase"], "load");
    EXPECT_EQ(first["born_step"], nullptr);
    EXPECT_EQ(first["role"], "parameter");
    EXPECT_GT(first["lifetime"].get<double>(), 1.0) << "since its birth before the gap";
    std::int64_t sum = 0;
    for (const Json& one : peak["at_peak"]) sum += one["bytes"].get<std::int64_t>();
    EXPECT_EQ(sum, 143 * kMiB);
  }
}

// What a thread that got no turn says in the window is older than what the snapshot holds.
class Late : public Gap {
 protected:
  static constexpr std::uint64_t kBorn = Builder::kStart, kBy = kBorn + 200;
  void say(EventType type, Kind kind, std::uint16_t flags, const std::vector<std::uint64_t>& words) {
    states.push_back(record_of(type, static_cast<std::uint8_t>(kind), flags, words, builder.now()));
  }
  void hold(std::uint64_t address, std::uint64_t given, Kind kind = Kind::heap) {
    say(EventType::held, kind, 0, {address, given, given, site, 0, kBy});
  }
  void displace(std::uint64_t address, std::uint64_t given, Kind kind = Kind::heap) {
    say(EventType::displaced, kind, 0, {address, given, given, site, kBy, kBorn});
  }
  // The level at the end, with the late records of a thread, beside what it is without them.
  std::int64_t more_with(const std::vector<format::RingRecord>& late) {
    const auto at_end = [&] { return row(process(), "backward", 8)["exit_live"].get<std::int64_t>(); };
    options.steps.all = true;
    write_all(tests::snapshot(states));
    const std::int64_t without = at_end();
    const std::string window = tests::read_file(file(".window-2"));
    tests::write_file(file(".window-2"), window + tests::encode(late, 7, format::Source::ring, 0));
    return at_end() - without;
  }
  static format::RingRecord late(EventType type, Kind kind, std::uint16_t flags,
                                 const std::vector<std::uint64_t>& words) {
    return record_of(type, static_cast<std::uint8_t>(kind), flags, words, kBorn + 100);
  }
};

TEST_F(Late, ADeathIsNotOfTheNewerBlockAtItsPlace) {
  hold(0x5000, kMiB);
  displace(0x5000, 2 * kMiB);
  EXPECT_EQ(more_with({late(EventType::death, Kind::heap, 0, {0x5000, 2 * kMiB})}), 0);
}

TEST_F(Late, ADeathIsNotOneOfABlockThatIsNotListed) {
  displace(0x5000, kMiB);
  const auto death = late(EventType::death, Kind::heap, 0, {0x5000, kMiB});
  EXPECT_EQ(more_with({death}), 0);
  states.pop_back();
  EXPECT_EQ(more_with({death}), -static_cast<std::int64_t>(kMiB)) << "one that is not listed";
}

TEST_F(Late, AMappingThatMovesIsTheOneBeforeTheNewer) {
  hold(0x50000, 4096, Kind::mmap_anon);
  displace(0x50000, 8192, Kind::mmap_anon);
  displace(0x70000, 8192, Kind::mmap_file);
  const auto move = [](std::uint64_t from, std::uint64_t to) {
    return late(EventType::move, Kind::mmap_anon, format::kRange,
                {from, to, 16384, 16384, 8192, halves(0, 10)});
  };
  EXPECT_EQ(more_with({move(0x50000, 0x60000)}), 16384);
  EXPECT_EQ(more_with({move(0x70000, 0x80000)}), 0) << "a file's is not memory";
}

TEST_F(Late, AnUnmappingIsOfWhatNewerMappingsDisplacedPieceByPiece) {
  hold(0x51000, 4096, Kind::mmap_anon); // the other half's newer mapping is gone
  displace(0x50000, 8192, Kind::mmap_anon);
  displace(0x50000, 4096, Kind::mmap_anon);
  EXPECT_EQ(more_with({late(EventType::death, Kind::mmap_anon, format::kRange, {0x50000, 8192})}), 0);
}

TEST_F(Late, AnUnmappingSparesTheNewerMapping) {
  hold(0x50000, 4096, Kind::mmap_anon);
  EXPECT_EQ(more_with({late(EventType::death, Kind::none, format::kRange, {0x50000, 4096})}), 0);
}

// Without its birth it is the death of a block that is not listed.
TEST_F(Late, ABirthWhoseDeathTheSnapshotHasLeavesNothing) {
  say(EventType::early_death, Kind::heap, 0, {0x5000, kMiB, 0, 0, 0, kBorn + 150});
  say(EventType::early_death, Kind::mmap_anon, format::kRange, {0x50000, 8192, 0, 0, 0, kBorn + 150});
  EXPECT_EQ(more_with({late(EventType::birth, Kind::heap, 0, {0x5000, kMiB, kMiB, site})}), kMiB);
  EXPECT_EQ(more_with({late(EventType::birth, Kind::mmap_anon, 0, {0x50000, 8192, 8192, site})}), 8192);
}

TEST_F(Late, ABirthUnderANewerBlockLeavesNothing) {
  hold(0x5000, kMiB);
  hold(0x50000, 4096, Kind::mmap_anon);
  EXPECT_EQ(more_with({late(EventType::birth, Kind::heap, 0, {0x5000, 2 * kMiB, 2 * kMiB, site})}), 0);
  EXPECT_EQ(more_with({late(EventType::birth, Kind::mmap_anon, 0, {0x50000, 8192, 8192, site})}), 0);
}

TEST_F(Gap, AStepThatIsCutOffIsNotSteady) {
  write_all(tests::snapshot(states));
  EXPECT_EQ(process()["trace"]["lost_events"], 0);
  const auto& seen = analysis(); // each call makes it anew
  const auto& spans = seen.account.detail;
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].first, replay::Step{0});
  EXPECT_EQ(spans[0].last, replay::Step{0});
  EXPECT_EQ(spans[1].first, replay::Step{6});
  EXPECT_EQ(spans[1].last, replay::Step{8});
  for (const replay::Step step : seen.steady.steps) EXPECT_TRUE(seen.account.whole(step));
}

TEST_F(Gap, ADamagedSnapshotIsDamageAndItsEventsAreCounted) {
  std::string bytes = tests::snapshot(states);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x10);
  write_all(bytes);
  const Json out = process();
  EXPECT_EQ(out["trace"]["events"], builder.records(0).size());
  EXPECT_EQ(out["trace"]["damaged_bytes"], bytes.size());
  EXPECT_EQ(out["trace"]["damaged_file"], "t.window-2");
  EXPECT_EQ(out["trace"]["lost_events"], 0);
}

// The ring's totals are those of the thread's whole life; the snapshot says how much of it came before.
TEST_F(Gap, TotalsOfTheRingsGoOnFromTheSnapshot) {
  write_all(tests::snapshot(states));
  const auto& all = builder.records(0);
  write(".rings", tests::ring_file({{0, all.size() + 500, {}, {5 * kMiB + 700, 4 * kMiB + 200, 12, 9}}}));
  const std::int64_t with = process()["peaks"][0]["bytes"];
  options.steps.all = true;
  EXPECT_EQ(process()["trace"]["live_error"], 700);
  std::filesystem::remove(file(".rings"));
  EXPECT_EQ(process()["peaks"][0]["bytes"], with) << "500 bytes more, after the peak";
}

TEST_F(Gap, ADroppedWindowMayHaveHadTheHighestLevel) {
  write_all(tests::snapshot(states));
  std::string rows = tests::rollup_file({1, 1, 0, 0, 0, 0}, {}, {});
  const auto put = [&](std::int64_t seen, std::int64_t at_least, std::int64_t at_most) {
    const std::int64_t levels[] = {seen, at_least, at_most};
    std::memcpy(rows.data() + offsetof(format::RollupHeader, highest), levels, sizeof levels);
    write(".coarse", rows);
    return process()["trace"]["error"];
  };
  const std::int64_t peak = process()["peaks"][0]["bytes"];
  Json error = put(peak - 5000, peak - 7000, peak + 9000);
  EXPECT_EQ(error["peak"]["above"], 9000);
  EXPECT_EQ(error["peak"]["below"], 0) << "the peak is in what was kept";
  EXPECT_EQ(error["live"]["above"], 0);
  error = put(peak, peak - 7000, peak);
  EXPECT_EQ(error["peak"]["above"], 0);
  EXPECT_EQ(error["peak"]["below"], 7000);
}

TEST_F(Gap, AWindowOfAnotherTraceIsDamage) {
  write_all(tests::snapshot(states));
  write(".window-3", tests::encode(builder.records(0), 0, format::Source::ring, 0, 99));
  const Json out = process();
  EXPECT_EQ(out["trace"]["damaged_bytes"], std::filesystem::file_size(file(".window-3")));
  EXPECT_EQ(out["trace"]["events"], builder.records(0).size());
}

TEST_F(Gap, HostileBytesNeverCrash) {
  const std::string snapshot = tests::snapshot(states);
  write_all(snapshot);
  const std::string good = tests::read_file(file(".window-2"));
  std::mt19937 random(tests::seed(5));
  for (int round = 0; round < 150; ++round) {
    std::string bytes = good;
    if (round % 3 == 0) bytes.resize(random() % bytes.size());
    for (int i = 0; i < 4 && !bytes.empty(); ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    write(".window-2", bytes);
    EXPECT_FALSE(process().dump().empty());
  }
  // Whole segments that say what no recorder would.
  for (int round = 0; round < 150; ++round) {
    std::vector<format::RingRecord> wild = states;
    for (int i = 0; i < 6; ++i) {
      format::RingRecord& record = wild[random() % wild.size()];
      switch (random() % 5) {
        case 0:
          *(record.payload.word + random() % 6) =
              random() % 2 ? ~std::uint64_t{0} : std::uint64_t{random()} << 33;
          break;
        case 1:
          record.flags = static_cast<std::uint16_t>(random());
          break;
        case 2:
          record.kind = static_cast<std::uint8_t>(random() % 16);
          break;
        case 3:
          wild.push_back(record);
          break;
        default:
          record.stamp = std::uint64_t{random()} << random() % 33;
      }
    }
    write_all(tests::snapshot(wild));
    write(".window-0", tests::read_file(file(".window-2"))); // and twice of one number
    options.steps.all = round % 2 == 0;
    EXPECT_FALSE(process().dump().empty());
    EXPECT_FALSE(text().empty());
  }
}

} // namespace
} // namespace memtrace::report
