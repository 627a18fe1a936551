// Purpose: random programs through this fold and through the analyzer's: the same rows, the same levels.
#include "preload/rollup/rollup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "analyzer/attribute/phase_accounting.h"
#include "analyzer/trace/trace.h"
#include "builder.h"
#include "host.h"
#include "rows.h"
#include "tests/unit/seed.h"

namespace memtrace::rollup {
namespace {

using format::EventType;
using format::Figure;
using format::Kind;
using format::PhaseRow;
using tests::Builder;

struct One {
  std::uint32_t thread;
  format::RingRecord record;
};

// The records of some threads as a pass hands them over.
std::vector<One> merged(Builder& builder, std::uint32_t threads) {
  std::vector<One> all;
  for (std::uint32_t thread = 0; thread < threads; ++thread)
    for (const format::RingRecord& record : builder.records(thread)) all.push_back({thread, record});
  std::stable_sort(all.begin(), all.end(),
                   [](const One& a, const One& b) { return a.record.stamp < b.record.stamp; });
  return all;
}

constexpr const char* kNames[] = {"forward", "backward", "step", "data", "eval", "mine", "load"};

void know_names(Builder& builder) {
  for (const char* name : kNames) tests::world.texts[builder.text(name)] = name;
}

// --- a program that does anything, within what a program can do ---

class Program {
 public:
  Program(Builder& builder, std::uint64_t seed) : builder_(builder), random_(seed) {}

  void run(int events) {
    // What decides how steps are counted is known from the first step on.
    for (const char* name : {"forward", "backward", "step"}) {
      builder_.on(0).begin(name);
      birth();
      builder_.end(name);
    }
    for (int i = 0; i < events; ++i) {
      builder_.on(static_cast<std::uint32_t>(roll(kThreads)));
      act();
    }
  }
  static constexpr std::uint32_t kThreads = 3;

 private:
  std::uint64_t roll(std::uint64_t below) { return random_() % below; }

  void birth() {
    const std::uint64_t address = 0x10000 + roll(400) * 64;
    if (live_.contains(address)) return;
    const bool tensor = roll(3) == 0;
    const std::uint64_t asked = 4096 + roll(100'000);
    builder_.birth(address, asked + roll(16), Kind::heap, tensor ? format::kTensor : 0,
                   static_cast<std::uint32_t>(1 + roll(20)), asked,
                   roll(4) == 0 ? tests::Small{100, 40, 3, 1} : tests::Small{});
    live_.insert(address);
  }
  std::uint64_t any_live() {
    auto at = live_.begin();
    std::advance(at, static_cast<long>(roll(live_.size())));
    return *at;
  }
  void death() {
    if (live_.empty()) return;
    const std::uint64_t address = any_live();
    builder_.death(address, 0, Kind::heap, 0, roll(4) == 0 ? tests::Small{7, 60, 1, 2} : tests::Small{});
    live_.erase(address);
  }
  void move() {
    if (live_.empty()) return;
    const std::uint64_t from = any_live(), to = 0x10000 + roll(400) * 64;
    if (to != from && live_.contains(to)) return;
    builder_.move(from, to, 4096 + roll(50'000), 4096, static_cast<std::uint32_t>(1 + roll(5000)));
    builder_.wait(6000); // the real call returns before the address is used again
    live_.erase(from);
    live_.insert(to);
  }
  void mapping() {
    const std::uint64_t address = any_page(), bytes = (1 + roll(12)) * 4096;
    switch (roll(5)) {
      case 0:
        map(address, bytes, 0, 21);
        break;
      case 1:
        map(address, bytes, format::kNoAccess, 22);
        break;
      case 2:
        builder_.unmap(address, bytes, format::kReleased);
        break;
      case 3:
        builder_.protect(address, bytes, static_cast<std::uint32_t>(roll(2) * 3));
        break;
      default:
        remap(address, bytes);
    }
  }
  std::uint64_t any_page() { return 0x7000'0000 + roll(64) * 4096; }
  void map(std::uint64_t address, std::uint64_t bytes, std::uint16_t flags, std::uint32_t stack) {
    builder_.unmap(address, bytes, format::kReleased); // as MAP_FIXED says it
    builder_.birth(address, bytes, Kind::mmap_anon, flags, stack);
  }
  void remap(std::uint64_t from, std::uint64_t bytes) {
    const std::uint64_t to = any_page(), grown = (1 + roll(12)) * 4096;
    builder_.unmap(to, grown, format::kReleased);
    builder_.remap(from, to, grown, roll(3) == 0 ? 0 : bytes, static_cast<std::uint32_t>(1 + roll(5000)));
    builder_.on(static_cast<std::uint32_t>(roll(kThreads)));
    builder_.unmap(any_page(), (1 + roll(12)) * 4096); // before the real call
    builder_.wait(6000);
  }
  void phase() {
    const char* const name = kNames[roll(std::size(kNames))];
    if (roll(2) == 0) {
      const std::uint16_t found = roll(5) != 0 ? format::kAuto : 0;
      constexpr std::uint16_t kFlags[] = {format::kGradOff, format::kClosure, 0, 0};
      builder_.begin(name, static_cast<std::uint16_t>(found | kFlags[roll(4)]));
    } else {
      builder_.end(name, roll(5) == 0 ? format::kSkipped : 0);
    }
  }
  void act() {
    switch (roll(12)) {
      case 0:
      case 1:
      case 2:
        birth();
        break;
      case 3:
      case 4:
        death();
        break;
      case 5:
        move();
        break;
      case 6:
      case 7:
        mapping();
        break;
      case 8:
        builder_.counters(roll(9000), roll(9000), roll(30), roll(30));
        break;
      case 9:
        builder_.sample(roll(1 << 30), roll(1 << 20), roll(1 << 20), 0);
        break;
      default:
        phase();
    }
  }

  Builder& builder_;
  std::mt19937_64 random_;
  std::set<std::uint64_t> live_;
};

// --- the two folds, as tables that can be compared ---

using Table = std::map<std::string, std::vector<std::int64_t>>;

std::string key(std::int64_t step, const std::string& path, unsigned memory) {
  return std::to_string(step) + " " + path + " " + std::to_string(memory);
}

Table of_analyzer(const replay::Account& account) {
  Table table;
  for (const replay::Row& row : account.rows) {
    std::string path;
    if (row.path != replay::PathId::other)
      for (const std::string& name : account.paths.texts(row.path)) path += (path.empty() ? "" : "/") + name;
    const auto step = static_cast<std::int64_t>(row.step);
    const replay::MemoryRow& of = row.of(0);
    std::vector<std::int64_t> figures;
    for (const replay::Figures* one : {&of.live, &of.tensor})
      figures.insert(figures.end(), {one->entry, one->exit, one->peak, one->transient, one->net});
    for (const std::uint64_t flow : {of.allocated, of.freed, of.allocations, row.count})
      figures.push_back(static_cast<std::int64_t>(flow));
    figures.push_back(row.skipped ? 1 : 0);
    table[key(step, path, 0)] = figures;
    if (!row.rss) continue;
    std::vector<std::int64_t> parts;
    for (const replay::Resident* one : {&row.rss->entry, &row.rss->exit, &row.rss->peak})
      for (const std::uint64_t part : {one->anon, one->file, one->shmem})
        parts.push_back(static_cast<std::int64_t>(part));
    table[key(step, path, format::kResident)] = parts;
  }
  return table;
}

Table of_rows(const std::vector<PhaseRow>& rows) {
  Table table;
  for (const PhaseRow& row : rows) {
    EXPECT_EQ(row.steps, 1u);
    std::string path = row.path == 0 ? "" : tests::world.defined.at(row.path);
    std::replace(path.begin(), path.end(), format::kPathJoint, '/');
    const auto step = row.bucket == format::kNoStepBucket ? -1 : static_cast<std::int64_t>(row.bucket);
    std::vector<std::int64_t> figures;
    for (std::size_t i = 0; i < format::kFigures; ++i) {
      EXPECT_EQ(row.figures[i].max, row.figures[i].min) << "of one step";
      const auto figure = static_cast<Figure>(i);
      if (row.memory == format::kResident ? i < 9
                                          : figure < Figure::reserved_entry || figure > Figure::reserved_net)
        figures.push_back(row.figures[i].max);
    }
    if (row.memory != format::kResident) figures.push_back(row.skipped);
    table[key(step, path, row.memory)] = figures;
  }
  return table;
}

// Rows in which nothing happened but that a phase began or ended are there in both, or say nothing.
TEST(Rollup, LikeTheAnalyzers) {
  const std::uint64_t first = tests::seed(1);
  for (std::uint64_t seed = first; seed < first + 100; ++seed) {
    const Host host = tests::host();
    Builder builder;
    know_names(builder);
    Program(builder, seed).run(1500);
    const tests::Scratch scratch;
    tests::write_file(scratch.file("t.memtrace"), builder.bytes());
    const trace::Trace trace(scratch.file("t.memtrace"));
    const replay::Account account = replay::account_phases(trace);

    auto ours = std::make_unique<Rollup>();
    tests::RollupFile file(8 << 20);
    ours->start(host, false, 0, 0);
    ours->attach(file.memory(), file.bytes(), Builder::kTraceId, 1);
    for (const One& one : merged(builder, Program::kThreads)) ours->apply(one.thread, one.record);
    ours->passed(true);
    ours->close();
    EXPECT_EQ(account.last_step,
              replay::Step{static_cast<std::int64_t>(tests::half_in(file.memory())->last_step)});
    ASSERT_LT(static_cast<std::int64_t>(account.last_step), 128) << "widened: rows are not of one step";
    const Table expected = of_analyzer(account), found = of_rows(tests::phases_in(file.memory()));
    EXPECT_GT(expected.size(), 20u);
    for (const auto& [name, figures] : expected) {
      ASSERT_TRUE(found.contains(name)) << name << " seed " << seed;
      EXPECT_EQ(found.at(name), figures) << name << " seed " << seed;
    }
    EXPECT_EQ(found.size(), expected.size());
    if (testing::Test::HasFailure()) return;
  }
}

} // namespace
} // namespace memtrace::rollup
