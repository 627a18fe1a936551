// Purpose: finds memory that every step leaves behind.
#include "analyzer/findings/process/leak_per_step.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "analyzer/explain/leading_peak.h"
#include "analyzer/explain/leak_steps.h"
#include "analyzer/findings/process/arena_site.h"
#include "analyzer/findings/process/leak_saving.h"
#include "analyzer/frameworks/function_names.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using replay::Holding;
using replay::MemoryId;
using replay::Step;

constexpr std::int64_t kLeastPerStep = 16 * 1024; // bytes; below this, a run of 10,000 steps loses only 160 MB
// Fewer bytes per step are a leak if there were so many steps that they are a large part in all.
constexpr std::int64_t kManySteps = 10'000;
constexpr std::int64_t kLeastOfMany = 8 * 1024 * 1024;  // bytes, and a tenth of what is alive
constexpr std::int64_t kLargeOfMany = 64 * 1024 * 1024; // bytes, whatever else is alive
constexpr std::int64_t kFewestSamples = 64;             // if blocks were sampled
constexpr std::int64_t kLeastInAll = 2 * 1024 * 1024;   // bytes; a few figures that a program keeps are less
// bytes; a cache with a limit is not a leak, and small ones are not worth a finding
constexpr std::int64_t kLeastInCache = 32 * 1024 * 1024;
constexpr std::size_t kQuarters = 4;

// The bytes that one place in the program left behind.
struct LeakTrail {
  std::map<std::int64_t, std::int64_t> bytes; // by the step of their birth
  std::map<format::StackId, std::int64_t> stacks;
  std::string phase;
  bool sampled = false;
  bool tensor = false;
  const frameworks::LibraryCache* cache = nullptr; // that the blocks fill

  void add(const Holding& holding, const std::string& born_phase) {
    bytes[static_cast<std::int64_t>(holding.born_step)] += static_cast<std::int64_t>(holding.bytes);
    stacks[holding.stack] += static_cast<std::int64_t>(holding.bytes);
    phase = born_phase;
    sampled = holding.sampled;
    tensor = holding.tensor;
  }
  std::int64_t sum() const {
    std::int64_t out = 0;
    for (const auto& [step, more] : bytes) out += more;
    return out;
  }
  format::StackId largest() const {
    return std::max_element(stacks.begin(), stacks.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }
};

const frameworks::LibraryCache* cache_at(const symbols::Site& site) {
  for (const symbols::SiteFrame& frame : site.frames)
    if (const auto* const cache = frame.python ? nullptr : frameworks::cache_filled_by(frame.function))
      return cache;
  return nullptr;
}

std::map<std::string, LeakTrail> trails(ProcessAnalysis& analysis, const replay::Holdings& alive,
                                        const LeakSteps& range) {
  std::map<std::string, LeakTrail> out;
  for (const Holding& holding : alive) {
    const auto step = static_cast<std::int64_t>(holding.born_step);
    if (step < range.from || step > range.to || holding.stack == format::StackId{}) continue;
    const symbols::Site& site = analysis.symbolizer->site(holding.stack);
    const bool arena = holding.kind == format::Kind::mmap_anon && is_arena(site);
    // Samples have an error, so the exact blocks of a site are a trail of their own.
    const std::string kind = holding.sampled ? "sampled" : holding.tensor ? "tensors" : "";
    LeakTrail& trail = out[arena ? std::string("arenas") : kind + "\n" + site.where + "\n" + site.caller];
    trail.add(holding, analysis.account.paths.text(holding.born_phase));
    if (!holding.tensor) trail.cache = cache_at(site);
  }
  return out;
}

std::array<std::int64_t, kQuarters> by_quarter(const LeakTrail& trail, const LeakSteps& range) {
  std::array<std::int64_t, kQuarters> quarters{};
  for (const auto& [step, bytes] : trail.bytes)
    quarters[static_cast<std::size_t>((step - range.from) * static_cast<std::int64_t>(kQuarters) /
                                      range.count())] += bytes;
  return quarters;
}

bool steady_growth(const LeakTrail& trail, const LeakSteps& range) {
  const auto quarters = by_quarter(trail, range);
  const std::int64_t mean = trail.sum() / static_cast<std::int64_t>(kQuarters);
  return std::all_of(quarters.begin(), quarters.end(),
                     [mean](std::int64_t quarter) { return 2 * quarter >= mean && 2 * quarter <= 3 * mean; });
}

// True if each quarter of many steps left about the same. Of sampled blocks, a quarter may be off by twice the
// usual error of its number of samples.
bool steady_over_many(const LeakTrail& trail, const LeakSteps& range, std::int64_t sample_bytes) {
  const std::int64_t sum = trail.sum();
  std::int64_t error = 0;
  if (trail.sampled) {
    const std::int64_t samples = sum / std::max<std::int64_t>(sample_bytes, 1);
    if (samples < kFewestSamples) return false;
    error = static_cast<std::int64_t>(2 * std::sqrt(static_cast<double>(samples) / kQuarters) *
                                      static_cast<double>(sample_bytes));
  }
  const std::int64_t mean = sum / static_cast<std::int64_t>(kQuarters);
  const auto quarters = by_quarter(trail, range);
  return std::all_of(quarters.begin(), quarters.end(), [&](std::int64_t quarter) {
    return 2 * (quarter + error) >= mean && 2 * (quarter - error) <= 3 * mean;
  });
}

// Returns bytes per step, from the first birth to the last, because an arena comes once in several steps.
std::int64_t slope(const LeakTrail& trail) {
  const auto& [first, of_first] = *trail.bytes.begin();
  const std::int64_t last = trail.bytes.rbegin()->first;
  return last == first ? 0 : (trail.sum() - of_first) / (last - first);
}

// `held`: bytes of all blocks that are alive then.
bool is_leak(const LeakTrail& trail, const LeakSteps& range, std::int64_t held, std::int64_t sample_bytes) {
  const std::int64_t sum = trail.sum();
  if (sum >= (trail.cache != nullptr ? kLeastInCache : kLeastInAll) && slope(trail) >= kLeastPerStep)
    return steady_growth(trail, range);
  if (trail.cache != nullptr || range.count() < kManySteps || slope(trail) <= 0) return false;
  return (sum >= kLargeOfMany || (sum >= kLeastOfMany && sum >= held / 10)) &&
         steady_over_many(trail, range, sample_bytes);
}

// Trails with one cause. What a step's graph keeps was born at several lines, in the same steps.
struct Leak {
  std::vector<const LeakTrail*> trails; // the largest first

  std::int64_t per_step() const {
    std::int64_t out = 0;
    for (const LeakTrail* trail : trails) out = replay::wrapping_add(out, slope(*trail));
    return out;
  }
  std::vector<format::StackId> stacks() const {
    std::vector<format::StackId> out;
    for (const LeakTrail* trail : trails)
      for (const auto& [stack, bytes] : trail->stacks) out.push_back(stack);
    return out;
  }
  const LeakTrail& largest() const { return *trails.front(); }
};

std::vector<Leak> leaks_of(const std::vector<const LeakTrail*>& trails) {
  std::vector<const LeakTrail*> sorted = trails;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const LeakTrail* a, const LeakTrail* b) { return slope(*a) > slope(*b); });
  const auto same_steps = [](const LeakTrail& a, const LeakTrail& b) {
    return std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end(),
                      [](const auto& one, const auto& other) { return one.first == other.first; });
  };
  std::vector<Leak> out;
  for (const LeakTrail* trail : sorted) {
    const auto known = std::find_if(out.begin(), out.end(), [&](const Leak& leak) {
      return trail->tensor && leak.largest().tensor && same_steps(*trail, leak.largest());
    });
    (known != out.end() ? *known : out.emplace_back()).trails.push_back(trail);
  }
  return out;
}

struct LeakLine {
  std::int64_t per_step = 0;
  std::vector<std::string> allocators;
};

// Returns what the user's line called: "torch.linear at torch/nn/modules/linear.py:134". Returns "" if there is
// nothing that the line itself does not say.
std::string allocator_at(const symbols::Site& site) {
  if (site.where == site.line()) return site.op;
  return site.op.empty() ? site.where : site.op + " at " + site.where;
}

// Returns the user's lines that the leak was born at, the largest first.
std::vector<std::pair<std::string, LeakLine>> lines_of(ProcessAnalysis& analysis, const Leak& leak) {
  std::map<std::string, LeakLine> sums;
  for (const LeakTrail* trail : leak.trails) {
    const symbols::Site& site = analysis.symbolizer->site(trail->largest());
    LeakLine& line = sums[site.line()];
    line.per_step = replay::wrapping_add(line.per_step, slope(*trail));
    if (const std::string allocator = allocator_at(site); !allocator.empty())
      line.allocators.push_back(allocator);
  }
  std::vector<std::pair<std::string, LeakLine>> out(sums.begin(), sums.end());
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.second.per_step > b.second.per_step; });
  return out;
}

std::string in_words(const std::vector<std::pair<std::string, LeakLine>>& lines) {
  constexpr std::size_t kLines = 6;
  std::string out;
  for (std::size_t i = 0; i < std::min(kLines, lines.size()); ++i) {
    const auto& [line, of] = lines[i];
    out += fmt::format("{}{} {}", out.empty() ? "" : "; ", line, fine_size(of.per_step));
    for (std::size_t k = 0; k < std::min<std::size_t>(3, of.allocators.size()); ++k)
      out += (k == 0 ? " by " : ", ") + of.allocators[k];
  }
  if (lines.size() > kLines) out += fmt::format("; {} more lines", lines.size() - kLines);
  return out;
}

// Returns what the allocator retains between the blocks that stay, or "" if that is little. It is below the
// share of `allocator-retention` where the leak itself is large. `held`: bytes of the leak. If fewer are in use
// in the ledger, it is of a time at which the program had freed them.
std::string retained_beside(const ProcessAnalysis& analysis, std::int64_t held) {
  constexpr std::uint64_t kLeast = 64 << 20; // bytes
  constexpr std::uint64_t kLeastPart = 10;   // 1/10 of what is resident
  const trace::ProcessLedger* const ledger = analysis.account.ledgers.highest_closed();
  if (ledger == nullptr) return "";
  std::uint64_t in_use = 0;
  for (const format::LedgerRow row : {format::LedgerRow::tensors, format::LedgerRow::heap})
    if (const auto& part = ledger->rows[static_cast<std::size_t>(row)]) in_use += part->resident;
  if (held < 0 || in_use < static_cast<std::uint64_t>(held)) return "";
  const auto& kept = ledger->rows[static_cast<std::size_t>(format::LedgerRow::kept)];
  if (!kept || kept->resident < kLeast || kept->resident < ledger->total / kLeastPart) return "";
  return fmt::format(
      "Beside the leak, the allocator kept {} of {} resident: freed blocks between blocks that stay. Without "
      "the leak, fewer of them stay resident.",
      sized(kept->resident), sized(ledger->total));
}

// Returns what the places of a leak held in the last step: the part that earlier steps left, and the rest.
std::string left_by_steps(const ProcessAnalysis& analysis, const Leak& leak, const LeakSteps& range,
                          const replay::Holdings& alive) {
  const Step last = analysis.account.last_step;
  const std::vector<format::StackId> stacks = leak.stacks();
  std::int64_t left = 0;
  Step from = last;
  for (const Holding& holding : alive) {
    if (holding.born_step == Step::none || holding.born_step >= last) continue;
    if (std::find(stacks.begin(), stacks.end(), holding.stack) == stacks.end()) continue;
    left = replay::wrapping_add(left, holding.bytes - holding.untouched);
    from = std::min(from, holding.born_step);
  }
  const auto number = [](Step step) { return static_cast<std::int64_t>(step); };
  std::string out = fmt::format("{} of steps {} to {} are still held {}", size(left), number(from),
                                number(last) - 1, analysis.place(replay::PathId::other, last));
  if (const std::int64_t own = replay::wrapping_sub(bytes_of(alive, stacks), left); own > 0)
    out += fmt::format(", beside {} made {}", size(own),
                       last == analysis.after_training ? "by then" : "in that step itself");
  const auto steps = static_cast<std::int64_t>(leak.largest().bytes.size());
  const std::string each = steps == range.count() ? "each" : fmt::format("{} of the {}", steps, range.count());
  return out + fmt::format("; {} of steps {} to {} left some", each, range.from, range.to);
}

// `alive`: at the highest point of the last step.
Finding finding_of(ProcessAnalysis& analysis, MemoryId memory, const Leak& leak, const LeakSteps& range,
                   const replay::Holdings& alive) {
  const LeakTrail& trail = leak.largest();
  const auto lines = lines_of(analysis, leak);
  const bool exact =
      std::none_of(leak.trails.begin(), leak.trails.end(), [](const LeakTrail* one) { return one->sampled; });
  Finding finding;
  finding.id = "leak-per-step";
  finding.memory = memory;
  finding.phase = trail.phase;
  finding.bytes = leak.per_step();
  finding.certain = analysis.losses.total() == 0 && exact &&
                    static_cast<std::int64_t>(trail.bytes.size()) * 10 >= range.count() * 9;
  finding.site = trail.largest();
  finding.stacks = leak.stacks();
  const std::int64_t held = held_at_end(analysis, memory, finding.stacks);
  finding.title =
      fmt::format("{} {} every step, at {}{}: {} {}",
                  trail.cache != nullptr ? std::string(trail.cache->keeps) + ":" : "Memory grows by",
                  fine_size(finding.bytes), lines.front().first,
                  lines.size() == 1
                      ? ""
                      : fmt::format(" and {} more {}", lines.size() - 1, lines.size() == 2 ? "line" : "lines"),
                  size(held),
                  died_with(analysis, memory)                     ? "are held at the death"
                  : analysis.after_training != replay::Step::none ? "at the highest point after the last step"
                                                                  : "at the highest point of the last step");
  const std::string left = left_by_steps(analysis, leak, range, alive);
  finding.evidence.push_back(left);
  finding.evidence.push_back("each step: " + in_words(lines));
  finding.sentences = {"Each step: " + in_words(lines) + "."};
  if (const std::string retained = memory == 0 ? retained_beside(analysis, held) : ""; !retained.empty())
    finding.sentences.push_back(retained);
  if (trail.cache != nullptr) {
    finding.remedy = trail.cache->remedy;
    return finding;
  }
  const bool of_graph = std::any_of(leak.trails.begin(), leak.trails.end(), [](const LeakTrail* one) {
    return one->tensor && (one->phase == "forward" || one->phase == "loss" || one->phase == "eval");
  });
  const std::int64_t some = finding.bytes < kLeastPerStep ? 1'000'000 : 1'000;
  finding.remedy = fmt::format(
      "look for what stores the result of {} in each step: a list, an attribute, {}. The trace does not show "
      "the holder. {}{} steps take {}",
      lines.front().first, of_graph ? "a graph that a kept loss holds" : "a cache",
      of_graph ? "A tensor with a grad_fn keeps its graph, and .detach() shares its memory; .item() or "
                 ".argmax() keep neither. "
               : "",
      count(static_cast<std::uint64_t>(some)), size(some * finding.bytes));
  return finding;
}

// True if all blocks of the leak that are alive in the last step are tensors.
bool leaks_tensors(const ProcessAnalysis& analysis, const Finding& leak) {
  const auto instant = leak_instant(analysis.account, leak.memory);
  if (!instant) return false;
  const replay::Holdings& alive = analysis.set(*instant);
  return std::none_of(alive.begin(), alive.end(), [&](const Holding& holding) {
    return !holding.tensor &&
           std::find(leak.stacks.begin(), leak.stacks.end(), holding.stack) != leak.stacks.end();
  });
}

} // namespace

PeakCandidates measure_leaks(ProcessAnalysis& analysis, const Findings& leaks) {
  PeakCandidates out;
  for (const Finding& leak : leaks) {
    LeadingPeak leading = leading_peak(analysis, leak.memory);
    if (leading.measure == replay::Measure::tensor && leak.memory == 0 && !leaks_tensors(analysis, leak))
      leading = live_peak(analysis, leak.memory);
    replay::Excluded excluded{.memory = leak.memory, .measure = leading.measure};
    excluded.births.emplace(); // no block is excluded from its birth
    excluded.left_by_steps.insert(leak.stacks.begin(), leak.stacks.end());
    excluded.left_by_steps.erase(format::StackId{});
    out.push_back({std::move(excluded), [&analysis, leak, leading](const replay::Without& without) {
                     return with_saving(analysis, leak, leading, without, "steps");
                   }});
  }
  return out;
}

Findings find_leaks(ProcessAnalysis& analysis) {
  Findings out;
  const LeakSteps range = leak_steps(analysis.account);
  for (const auto& [memory, peaks] : analysis.account.peaks) {
    const auto instant = leak_instant(analysis.account, memory);
    if (!instant) continue;
    const replay::Holdings& alive = analysis.set(*instant);
    std::int64_t held = 0;
    for (const Holding& holding : alive) held = replay::wrapping_add(held, holding.bytes - holding.untouched);
    const std::map<std::string, LeakTrail> all = trails(analysis, alive, range);
    std::vector<const LeakTrail*> growing;
    for (const auto& [place, trail] : all)
      if (is_leak(trail, range, held, analysis.facts().sample_bytes)) growing.push_back(&trail);
    for (const Leak& leak : leaks_of(growing)) out.push_back(finding_of(analysis, memory, leak, range, alive));
  }
  return out;
}

} // namespace memtrace::report
