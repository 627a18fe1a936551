// Purpose: the phases of a process that recur, but not in each step.
#include "analyzer/findings/process/recurring_phases.h"

#include <algorithm>
#include <array>
#include <optional>

#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

using replay::PathId;
using replay::Row;
using replay::Step;

template <std::size_t Count>
bool is_one_of(const std::array<const char*, Count>& names, const std::string& name) {
  return std::any_of(names.begin(), names.end(), [&](const char* one) { return name == one; });
}

// The parts of a step. If one occurs in some steps only, these steps are the event.
bool is_part_of_step(const std::string& name) {
  static constexpr std::array kParts = {"other", "data", "forward",   "loss",    "recompute", "backward",
                                        "step",  "gc",   "zero_grad", "compile", "init"};
  return is_one_of(kParts, name);
}

std::string name_of(const ProcessAnalysis& analysis, PathId path) {
  return analysis.account.paths.text(analysis.account.paths.last(path));
}

// Returns the end of what a program sets up: its first update, else its first use of a model.
trace::Ordinal setup_end(const ProcessAnalysis& analysis) {
  const Step first = analysis.account.first_update;
  trace::Ordinal update = 0;
  std::optional<trace::Ordinal> use;
  for (const Row& row : analysis.account.rows) {
    if (row.count == 0) continue;
    const std::string name = name_of(analysis, row.path);
    if (first != Step::none && row.step == first && name == "step") update = std::max(update, row.left);
    if (replay::uses_a_model(name)) use = std::min(use.value_or(row.entered), row.entered);
  }
  return first != Step::none ? update : use.value_or(0);
}

// What the occurrences of one phase did in the whole run.
struct PhaseTotals {
  std::vector<std::int64_t> steps; // of the range, ascending
  std::uint64_t count = 0;         // occurrences
  trace::Ordinal left = 0;
  std::vector<std::int64_t> net; // bytes by MemoryId
};

std::map<PathId, PhaseTotals> totals(const ProcessAnalysis& analysis, const LeakSteps& range) {
  std::map<PathId, PhaseTotals> out;
  for (const Row& row : analysis.account.rows) {
    if (row.count == 0) continue;
    PhaseTotals& phase = out[row.path];
    const auto step = static_cast<std::int64_t>(row.step);
    if (range.from <= step && step <= range.to) phase.steps.push_back(step);
    phase.count += row.count;
    phase.left = std::max(phase.left, row.left);
    phase.net.resize(std::max(phase.net.size(), row.memory.size()));
    for (std::size_t i = 0; i < row.memory.size(); ++i)
      phase.net[i] =
          replay::wrapping_add(phase.net[i], i == 0 ? row.memory[i].live.net : row.memory[i].tensor.net);
  }
  for (auto& [path, phase] : out) {
    std::sort(phase.steps.begin(), phase.steps.end());
    phase.steps.erase(std::unique(phase.steps.begin(), phase.steps.end()), phase.steps.end());
  }
  return out;
}

// True if the program begins the phase on purpose. Then neither it nor a phase around it is a part of a step or
// a forward pass. Passes of one evaluation are not events: a program may keep their results until it is over.
bool is_begun_on_purpose(const ProcessAnalysis& analysis, PathId path) {
  for (PathId above = path; above != PathId::other; above = analysis.account.paths.parent_of(above))
    if (const std::string name = name_of(analysis, above); is_part_of_step(name) || name == "eval")
      return false;
  return true;
}

} // namespace

RecurringPhases recurring_phases(const ProcessAnalysis& analysis, std::int64_t least_growth) {
  RecurringPhases out;
  if (analysis.cycles) {
    const replay::Cycles& cycles = *analysis.cycles;
    const std::int64_t grew = replay::wrapping_sub(cycles.exit, cycles.each.front().entry);
    if (grew >= least_growth)
      out.counted.push_back({PathId::other, cycles.each.front().begin - 1, cycles.end - 1, false});
    out.guessed = true;
    return out;
  }
  out.range = leak_steps(analysis.account);
  out.leaks_show = out.range.count() >= kFewestSteps;
  if (analysis.account.stride > 1) return out; // the rows do not have all occurrences
  const auto few = [&](const std::vector<std::int64_t>& steps) {
    return !out.leaks_show || 2 * static_cast<std::int64_t>(steps.size()) <= out.range.count();
  };
  const std::map<PathId, PhaseTotals> all = totals(analysis, out.range);
  for (const auto& [path, phase] : all)
    if (phase.steps.size() >= kFewestEvents && few(phase.steps) && !is_part_of_step(name_of(analysis, path)))
      out.steps[path] = phase.steps;
  if (analysis.account.detail.size() > 1) return out; // the trace does not have all occurrences
  const trace::Ordinal from = setup_end(analysis);
  for (const auto& [path, phase] : all) {
    const bool grew =
        std::any_of(phase.net.begin(), phase.net.end(), [&](std::int64_t net) { return net >= least_growth; });
    if (phase.count <= kFewestEvents || !grew || phase.left <= from || !is_begun_on_purpose(analysis, path) ||
        phase_of_event(analysis, out, path) != PathId::other)
      continue;
    out.counted.push_back({path, from, phase.left, name_of(analysis, path) == "load"});
  }
  return out;
}

PathId phase_of_event(const ProcessAnalysis& analysis, const RecurringPhases& phases, PathId path) {
  PathId out = PathId::other;
  for (PathId above = path; above != PathId::other; above = analysis.account.paths.parent_of(above))
    if (phases.steps.contains(above)) out = above;
  return out;
}

std::string event_words(const std::string& phase) {
  static constexpr std::array kNouns = {"save", "load", "rollout"};
  if (phase == "eval") return "evaluation";
  if (phase == "generate") return "generate call";
  return is_one_of(kNouns, phase) ? phase : "phase " + printable(phase);
}

} // namespace memtrace::report
