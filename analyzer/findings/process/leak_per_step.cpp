// Purpose: finds memory that every step leaves behind.
#include "analyzer/findings/process/leak_per_step.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "analyzer/explain/leak_steps.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using replay::Holding;
using replay::MemoryId;
using replay::Step;

constexpr std::int64_t kLeastPerStep = 16 * 1024; // bytes; below this, a run of 10,000 steps loses only 160 MB
constexpr std::int64_t kLeastInAll = 2 * 1024 * 1024; // bytes; a few figures that a program keeps are less
constexpr std::size_t kQuarters = 4;

// The bytes that one place in the program left behind.
struct LeakTrail {
  std::map<std::int64_t, std::int64_t> bytes; // by the step of their birth
  std::map<format::StackId, std::int64_t> stacks;
  std::string phase;
  bool sampled = false;

  void add(const Holding& holding, const std::string& born_phase) {
    bytes[static_cast<std::int64_t>(holding.born_step)] += static_cast<std::int64_t>(holding.bytes);
    stacks[holding.stack] += static_cast<std::int64_t>(holding.bytes);
    phase = born_phase;
    sampled = sampled || holding.sampled;
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

// True for an arena, which Python's allocator of small objects requests when its last one is full. It is chance
// which line requests it, so all arenas are one site.
bool is_arena(const symbols::Site& site) {
  for (const symbols::SiteFrame& frame : site.frames) {
    if (frame.python) return false;
    if (frame.function.find("Arena") != std::string::npos || frame.function.find("arena") != std::string::npos)
      return true;
  }
  return false;
}

std::map<std::string, LeakTrail> trails(ProcessAnalysis& analysis, const replay::Holdings& alive,
                                        const LeakSteps& range) {
  std::map<std::string, LeakTrail> out;
  for (const Holding& holding : alive) {
    const auto step = static_cast<std::int64_t>(holding.born_step);
    if (step < range.from || step > range.to || holding.stack == format::StackId{}) continue;
    const symbols::Site& site = analysis.symbolizer->site(holding.stack);
    const bool arena = holding.kind == format::Kind::mmap_anon && is_arena(site);
    out[arena ? std::string("arenas") : site.where + "\n" + site.caller].add(
        holding, analysis.account.paths.text(holding.born_phase));
  }
  return out;
}

bool steady_growth(const LeakTrail& trail, const LeakSteps& range) {
  std::array<std::int64_t, kQuarters> quarters{};
  for (const auto& [step, bytes] : trail.bytes)
    quarters[static_cast<std::size_t>((step - range.from) * static_cast<std::int64_t>(kQuarters) /
                                      range.count())] += bytes;
  const std::int64_t mean = trail.sum() / static_cast<std::int64_t>(kQuarters);
  return std::all_of(quarters.begin(), quarters.end(),
                     [mean](std::int64_t quarter) { return 2 * quarter >= mean && 2 * quarter <= 3 * mean; });
}

// Returns bytes per step, from the first birth to the last, because an arena comes once in several steps.
std::int64_t slope(const LeakTrail& trail) {
  const auto& [first, of_first] = *trail.bytes.begin();
  const std::int64_t last = trail.bytes.rbegin()->first;
  return last == first ? 0 : (trail.sum() - of_first) / (last - first);
}

Finding finding_of(ProcessAnalysis& analysis, MemoryId memory, const LeakTrail& trail, const LeakSteps& range) {
  const format::StackId stack = trail.largest();
  const symbols::Site& site = analysis.symbolizer->site(stack);
  const std::int64_t per_step = slope(trail);
  Finding finding;
  finding.id = "leak-per-step";
  finding.memory = memory;
  finding.phase = trail.phase;
  finding.bytes = per_step;
  finding.certain = analysis.losses.total() == 0 && !trail.sampled &&
                    static_cast<std::int64_t>(trail.bytes.size()) * 10 >= range.count() * 9;
  finding.site = stack;
  finding.title = fmt::format("{}: {} more in every step", site.title(), size(per_step));
  const std::string left = fmt::format(
      "Of what was allocated there in steps {} to {}, {} in {} of {} steps {} still held in step {}",
      range.from, range.to, size(trail.sum()), trail.bytes.size(), range.count(),
      trail.bytes.size() == 1 ? "is" : "are", static_cast<std::int64_t>(analysis.account.last_step));
  finding.evidence.push_back(left);
  finding.sentences.push_back(left + ".");
  if (trail.stacks.size() > 1)
    finding.sentences.push_back(fmt::format("It came by {} paths; the largest is named.", trail.stacks.size()));
  if (!site.caller.empty()) finding.sentences.push_back("Called from " + site.caller + ".");
  finding.remedy = fmt::format(
      "find what keeps a reference to it from step to step (a list, a cache, a tensor with "
      "its graph: .detach() or .item()); 1,000 steps take {}",
      size(1000 * per_step));
  return finding;
}

} // namespace

Findings find_leaks(ProcessAnalysis& analysis) {
  Findings out;
  const LeakSteps range = leak_steps(analysis.account);
  for (const auto& [memory, peaks] : analysis.account.peaks) {
    const auto instant = leak_instant(analysis.account, memory);
    if (!instant) continue;
    for (const auto& [place, trail] : trails(analysis, analysis.set(*instant), range)) {
      if (trail.sum() < kLeastInAll || slope(trail) < kLeastPerStep || !steady_growth(trail, range)) continue;
      out.push_back(finding_of(analysis, memory, trail, range));
    }
  }
  return out;
}

} // namespace memtrace::report
