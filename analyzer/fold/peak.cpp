// Room: fold. Pure: ids in, numbers out.
// Job: the second pass: exactly what was alive at given instants, and what each block was for.
#include "fold/peak.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "fold/wrap.h"

namespace memtrace::fold {
namespace {

// Lifetimes of a group. Beyond some thousands every other one is dropped, evenly over time: the median stays
// good and memory bounded.
class Lifetimes {
 public:
  void add(std::uint64_t ns) {
    if (seen_++ % stride_ != 0) return;
    kept_.push_back(ns);
    if (kept_.size() < kMost) return;
    for (std::size_t i = 0; i < kMost / 2; ++i) kept_[i] = kept_[2 * i];
    kept_.resize(kMost / 2);
    stride_ *= 2;
  }
  std::uint64_t median() {
    const auto middle = kept_.begin() + static_cast<std::ptrdiff_t>((kept_.size() - 1) / 2);
    std::nth_element(kept_.begin(), middle, kept_.end());
    return *middle;
  }

 private:
  static constexpr std::size_t kMost = 8192;
  std::vector<std::uint64_t> kept_;
  std::uint64_t seen_ = 0;
  std::uint64_t stride_ = 1;
};

struct Group {
  format::StackId stack{};
  format::Kind kind{};
  Role role{};
  bool tensor = false;
  NameId phase{};
  Known known{};
  Step step{};
  bool operator==(const Group&) const = default;
};

struct GroupHash {
  std::size_t operator()(const Group& group) const {
    std::uint64_t hash = static_cast<std::uint64_t>(group.stack);
    for (const std::uint64_t part :
         {static_cast<std::uint64_t>(group.kind), static_cast<std::uint64_t>(group.role),
          static_cast<std::uint64_t>(group.phase), static_cast<std::uint64_t>(group.step)}) {
      hash = (hash ^ part) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 29;
    }
    return static_cast<std::size_t>(hash);
  }
};

struct Sum {
  std::uint64_t bytes = 0;
  std::uint64_t asked = 0;
  std::uint64_t blocks = 0;
  std::uint64_t largest = 0;
  Lifetimes lifetimes;
};

using Set = std::unordered_map<Group, Sum, GroupHash>;

Holdings holdings(Set& set) {
  Holdings out;
  for (auto& [group, sum] : set) {
    out.push_back({sum.bytes, sum.asked, sum.blocks, sum.largest, group.kind, group.role, group.tensor,
                   group.stack, group.phase, group.known, group.step, sum.lifetimes.median()});
  }
  std::sort(out.begin(), out.end(), [](const Holding& a, const Holding& b) {
    const auto rest = [](const Holding& h) {
      return std::tuple(h.stack, h.kind, h.role, h.tensor, h.born_phase, h.born_known, h.born_step);
    };
    return a.bytes != b.bytes ? a.bytes > b.bytes : rest(a) < rest(b);
  });
  return out;
}

// The instants of one measure of one memory, and what was alive at each.
struct Timeline {
  std::vector<trace::Ordinal> at; // ascending
  std::vector<Set> sets;

  // A block counts at every instant in [birth, death).
  void add(const Group& group, const Block& block, std::uint64_t bytes, trace::Ordinal death,
           std::uint64_t lifetime) {
    auto instant = std::lower_bound(at.begin(), at.end(), block.birth);
    for (; instant != at.end() && *instant < death; ++instant) {
      Sum& sum = sets[static_cast<std::size_t>(instant - at.begin())][group];
      sum.bytes += bytes;
      sum.asked += block.asked;
      ++sum.blocks;
      sum.largest = std::max(sum.largest, bytes);
      sum.lifetimes.add(lifetime);
    }
  }
};

class PeakSets : public Observer {
 public:
  PeakSets(const trace::Trace& trace, const std::vector<Instant>& instants)
      : last_stamp_(trace.facts().last_stamp), last_step_(Step::none) {
    const std::set<Instant> sorted(instants.begin(), instants.end());
    for (const Instant& instant : sorted)
      timelines_[{instant.memory, instant.measure}].at.push_back(instant.at);
    for (auto& [which, timeline] : timelines_) timeline.sets.resize(timeline.at.size());
  }

  // Known from the first pass: what was freed in the last step says less than what was freed before.
  void last_step(Step step) { last_step_ = step; }

  void died(const Block& block, const trace::Event& event) override {
    add(block, event.ordinal, event.stamp,
        {false, phases().open(block.born.occurrence), phases().step(), last_step_});
  }

  void finished() override {
    ledger().each_alive([this](const Block& block) {
      add(block, ~trace::Ordinal{0}, last_stamp_,
          {true, phases().open(block.born.occurrence), phases().step(), phases().step()});
    });
  }

  std::map<Instant, Holdings> take() {
    std::map<Instant, Holdings> out;
    for (auto& [which, timeline] : timelines_) {
      for (std::size_t i = 0; i < timeline.at.size(); ++i) {
        out[{which.first, which.second, timeline.at[i]}] = holdings(timeline.sets[i]);
      }
    }
    return out;
  }

 private:
  void add(const Block& block, trace::Ordinal death, format::Stamp stamp, const Fate& fate) {
    Group group;
    group.stack = block.stack;
    group.kind = block.kind;
    group.tensor = block.tensor;
    group.role = block.label != Role::unknown          ? block.label
                 : block.kind == format::Kind::context ? Role::context
                 : block.tensor                        ? role_of(block.born, fate)
                                                       : Role::unknown;
    group.phase = phases().paths().last(block.born.path);
    group.known = block.born.known;
    group.step = block.born.step;
    const std::uint64_t lifetime = stamp > block.birth_stamp ? stamp - block.birth_stamp : 0;
    if (block.counted) at(block.memory, Measure::live, group, block, block.given, death, lifetime);
    if (block.tensor) at(block.memory, Measure::tensor, group, block, block.tensor_bytes(), death, lifetime);
  }

  void at(MemoryId memory, Measure measure, const Group& group, const Block& block, std::uint64_t bytes,
          trace::Ordinal death, std::uint64_t lifetime) {
    const auto timeline = timelines_.find({memory, measure});
    if (timeline != timelines_.end()) timeline->second.add(group, block, bytes, death, lifetime);
  }

  format::Stamp last_stamp_;
  Step last_step_;
  std::map<std::pair<MemoryId, Measure>, Timeline> timelines_;
};

class Excluding : public Observer {
 public:
  Excluding(MemoryId memory, const std::unordered_set<format::StackId>& stacks)
      : memory_(memory), stacks_(stacks) {}

  void born(const Block& block) override {
    if (!excluded(block)) return;
    excluded_ = plus(excluded_, block.tensor_bytes());
    steps_.insert(block.born.step);
  }
  void died(const Block& block, const trace::Event&) override {
    if (excluded(block)) excluded_ = minus(excluded_, block.tensor_bytes());
  }
  void started() override { peak_ = ledger().level(memory_).tensor; }
  void after(const trace::Event&, const Place&) override {
    peak_ = std::max(peak_, minus(ledger().level(memory_).tensor, excluded_));
  }
  Without take() const { return {peak_, {steps_.begin(), steps_.end()}}; }

 private:
  bool excluded(const Block& block) const {
    return block.tensor && block.memory == memory_ && block.born.known == Known::step &&
           stacks_.contains(block.stack);
  }

  MemoryId memory_;
  const std::unordered_set<format::StackId>& stacks_;
  std::int64_t excluded_ = 0;
  std::int64_t peak_ = 0;
  std::set<Step> steps_;
};

} // namespace

std::map<Instant, Holdings> alive_at(const trace::Trace& trace, const std::vector<Instant>& instants,
                                     Step last_step) {
  Replay replay(trace);
  PeakSets sets(trace, instants);
  sets.last_step(last_step);
  replay.run(sets);
  return sets.take();
}

Without peak_without(const trace::Trace& trace, MemoryId memory,
                     const std::unordered_set<format::StackId>& stacks) {
  Replay replay(trace);
  Excluding excluding(memory, stacks);
  replay.run(excluding);
  return excluding.take();
}

} // namespace memtrace::fold
