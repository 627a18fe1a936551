// Purpose: the few steps of a long run that took much more memory than the others.
#include "analyzer/explain/rare_steps.h"

#include <algorithm>
#include <map>

#include "analyzer/explain/leak_steps.h"
#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::report {
namespace {

using replay::Measure;
using replay::MemoryId;
using replay::PathId;
using replay::Row;
using replay::Step;

constexpr std::int64_t kFewestOfLongRun = 1000;
constexpr std::size_t kMostRareCandidates = 100;
constexpr std::int64_t kLeastRise = 16 << 20; // bytes
constexpr std::int64_t kPartOfPeak = 100;

const replay::Figures& measured_in(const Row& row, MemoryId memory, Measure measure) {
  return measure == Measure::tensor ? row.of(memory).tensor : row.of(memory).live;
}

class RareStepSearch {
 public:
  RareStepSearch(const replay::Account& account, const replay::Steady& steady, const replay::Buckets& buckets,
                 MemoryId memory, Measure measure, std::int64_t peak)
      : account_(account),
        buckets_(buckets),
        memory_(memory),
        measure_(measure),
        least_(std::max(kLeastRise, peak / kPartOfPeak)) {
    for (const Row& row : steady.rows) {
      const replay::Figures& figures = measured_in(row, memory, measure);
      typical_[row.path] = replay::wrapping_sub(figures.peak, figures.entry);
    }
  }

  std::vector<RareStep> found() && {
    for (const Row& row : account_.rows) {
      if (row.step == Step::none || row.count == 0 || row.partial || !account_.whole(row.step)) continue;
      const replay::Figures& figures = measured_in(row, memory_, measure_);
      take({row.step, row.step}, row.path, replay::wrapping_sub(figures.peak, figures.entry), figures.peak_at);
    }
    for (const replay::BucketRow& row : buckets_.rows)
      if (row.steps.first != Step::none && row.most.count != 0 && !has_own_rows(row.steps)) take(row);
    std::vector<RareStep> out;
    if (steps_.size() > kMostRareCandidates) return out;
    for (const auto& [step, rare] : steps_) out.push_back(rare);
    return out;
  }

 private:
  bool has_own_rows(const replay::StepSpan& steps) const {
    const auto& detail = account_.detail;
    return std::any_of(detail.begin(), detail.end(), [&](const replay::StepSpan& span) {
      return span.first <= steps.first && steps.last <= span.last;
    });
  }

  void take(const replay::StepSpan& steps, PathId path, std::int64_t rise, trace::Ordinal peak_at) {
    const auto typical = typical_.find(path);
    // The first update makes states and caches.
    if (typical == typical_.end() || static_cast<std::int64_t>(steps.first) < leak_steps(account_).from) return;
    if (replay::wrapping_sub(rise, typical->second) < std::max(least_, typical->second / 2)) return;
    RareStep& rare = steps_[steps.first];
    if (rise <= rare.rise) return;
    rare = {steps, memory_, measure_, path, rise, typical->second, peak_at, {}, 0};
  }

  // The largest `net` and the largest `transient` may be of two steps, so their sum may be of none.
  void take(const replay::BucketRow& row) {
    const replay::Figures& figures = measured_in(row.most, memory_, measure_);
    const std::int64_t rise = std::max(figures.net, figures.transient);
    replay::StepSpan steps = row.steps;
    const std::vector<replay::Births> births = buckets_.births(row, memory_);
    const auto largest = std::max_element(
        births.begin(), births.end(),
        [](const replay::Births& a, const replay::Births& b) { return a.largest < b.largest; });
    const bool tells = largest != births.end() && 2 * static_cast<std::int64_t>(largest->largest) >= rise;
    if (tells && steps.first <= largest->largest_in && largest->largest_in <= steps.last)
      steps = {largest->largest_in, largest->largest_in};
    take(steps, row.most.path, rise, 0);
    const auto at = steps_.find(steps.first);
    if (!tells || at == steps_.end() || at->second.path != row.most.path || at->second.peak_at != 0) return;
    at->second.stack = largest->stack;
    at->second.block = largest->largest;
  }

  const replay::Account& account_;
  const replay::Buckets& buckets_;
  MemoryId memory_;
  Measure measure_;
  std::int64_t least_;
  std::map<PathId, std::int64_t> typical_;
  std::map<Step, RareStep> steps_; // by the first
};

} // namespace

std::vector<RareStep> find_rare_steps(const replay::Account& account, const replay::Steady& steady,
                                      const replay::Buckets& buckets) {
  std::vector<RareStep> out;
  if (static_cast<std::int64_t>(account.last_step) < kFewestOfLongRun || steady.rows.empty()) return out;
  for (const auto& [memory, peaks] : account.peaks) {
    const bool tensors = 2 * peaks.tensor.bytes >= peaks.live.bytes;
    const std::int64_t peak = tensors ? peaks.tensor.bytes : peaks.live.bytes;
    for (RareStep& rare :
         RareStepSearch(account, steady, buckets, memory, tensors ? Measure::tensor : Measure::live, peak)
             .found())
      out.push_back(rare);
  }
  std::stable_sort(out.begin(), out.end(), [](const RareStep& a, const RareStep& b) {
    return a.rise - a.typical > b.rise - b.typical;
  });
  out.resize(std::min(out.size(), kMostRareSteps));
  std::stable_sort(out.begin(), out.end(),
                   [](const RareStep& a, const RareStep& b) { return a.steps.first < b.steps.first; });
  return out;
}

void find_their_blocks(const std::map<replay::Instant, replay::Holdings>& sets, std::vector<RareStep>& steps) {
  for (RareStep& rare : steps) {
    const auto alive = sets.find({rare.memory, rare.measure, rare.peak_at});
    if (rare.peak_at == 0 || alive == sets.end()) continue;
    for (const replay::Holding& holding : alive->second) {
      if (holding.born_step != rare.steps.first || holding.sampled || holding.largest <= rare.block) continue;
      rare.stack = holding.stack;
      rare.block = holding.largest;
    }
  }
}

} // namespace memtrace::report
