// Purpose: finds memory that each save, evaluation or other recurring event leaves behind.
#include "analyzer/findings/process/leak_per_event.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/explain/leading_peak.h"
#include "analyzer/findings/process/event_trails.h"
#include "analyzer/findings/process/leak_saving.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

using replay::LeftBlock;
using replay::MemoryId;
using replay::PathId;

// Returns "evaluation", "save", "10 steps", or "cycle" if memtrace guessed the events.
std::string event_of(const ProcessAnalysis& analysis, const EventLeak& leak) {
  const PathId path = leak.largest().of.path;
  if (analysis.cycles) return "cycle";
  if (path == PathId::other) return fmt::format("{} steps", leak.events[1] - leak.events[0]);
  return event_words(analysis.account.paths.text(analysis.account.paths.last(path)));
}

std::string lines_in_words(const EventLeak& leak) {
  constexpr std::size_t kLines = 6;
  std::map<std::string, std::int64_t> sums;
  for (const EventTrail& trail : leak.trails)
    sums[trail.line] = replay::wrapping_add(sums[trail.line], per_event(trail, leak.events));
  std::vector<std::pair<std::string, std::int64_t>> lines(sums.begin(), sums.end());
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out;
  for (std::size_t i = 0; i < std::min(kLines, lines.size()); ++i)
    out += fmt::format("{}{} {}", out.empty() ? "" : "; ", lines[i].first, size(lines[i].second));
  if (lines.size() > kLines) out += fmt::format("; {} more lines", lines.size() - kLines);
  return out;
}

// Returns "Of 8 such events, 8 left memory, in steps 9 to 79".
std::string events_in_words(const EventLeak& leak, bool are_steps, bool guessed) {
  const EventTrail& trail = leak.largest();
  std::string out = fmt::format("Of {} {}, {} left memory", leak.events.size(),
                                guessed ? "compared cycles" : "such events", trail.bytes.size());
  if (are_steps)
    out += fmt::format(", in {}", step_range(static_cast<replay::Step>(trail.bytes.begin()->first),
                                             static_cast<replay::Step>(trail.bytes.rbegin()->first)));
  return out;
}

// Returns how memtrace knows of the cycles.
std::string cycles_in_words(ProcessAnalysis& analysis) {
  const replay::Cycles& cycles = *analysis.cycles;
  return fmt::format(
      "The cycles are a guess, found from the pattern of allocations: {} of them, each begins with a block of "
      "{}",
      cycles.each.size(), printable(analysis.symbolizer->site(cycles.anchor).line()));
}

std::string end_in_words(const ProcessAnalysis& analysis, MemoryId memory, const std::string& event,
                         bool steps) {
  if (died_with(analysis, memory)) return "are held at the death";
  if (!steps) return "are held after the last " + event;
  return analysis.after_training != replay::Step::none ? "at the highest point after the last step"
                                                       : "at the highest point of the last step";
}

Finding event_finding(ProcessAnalysis& analysis, const RecurringPhases& phases, const replay::LeftBlocks& left,
                      const EventLeak& leak) {
  const EventTrail& trail = leak.largest();
  const std::string event = event_of(analysis, leak);
  const bool steps = trail.of.counted == phases.counted.size();
  const bool regular = trail.of.path == PathId::other && !phases.guessed;
  Finding finding;
  finding.id = "leak-per-event";
  finding.memory = trail.memory;
  finding.phase = analysis.account.paths.text(
      analysis.account.paths.last(regular ? trail.blocks.back()->born.path : trail.of.path));
  std::set<std::string> lines;
  for (const EventTrail& one : leak.trails) {
    finding.bytes = replay::wrapping_add(finding.bytes, per_event(one, leak.events));
    for (const auto& [stack, bytes] : one.stacks) finding.stacks.push_back(stack);
    lines.insert(one.line);
  }
  std::sort(finding.stacks.begin(), finding.stacks.end());
  finding.certain =
      !phases.guessed && analysis.losses.total() == 0 && trail.bytes.size() * 10 >= leak.events.size() * 9;
  finding.site = std::max_element(trail.stacks.begin(), trail.stacks.end(), [](const auto& a, const auto& b) {
                   return a.second < b.second;
                 })->first;
  std::int64_t held = 0;
  for (const LeftBlock& block : left.each)
    if (block.memory == trail.memory &&
        std::binary_search(finding.stacks.begin(), finding.stacks.end(), block.stack))
      held = replay::wrapping_add(held, block.bytes);
  const std::size_t more = lines.size() - 1;
  finding.title = fmt::format(
      "Memory grows by {} {} {}, at {}{}: {} {}", size(finding.bytes), regular ? "every" : "with each", event,
      trail.line, more == 0 ? "" : fmt::format(" and {} more {}", more, more == 1 ? "line" : "lines"),
      size(held), end_in_words(analysis, trail.memory, event, steps));
  const std::string each = lines_in_words(leak);
  const std::string said = events_in_words(leak, steps, phases.guessed);
  finding.evidence = {said, "each time: " + each};
  finding.sentences = {said + ". Each time: " + each + "."};
  if (phases.guessed) {
    const std::string guess = cycles_in_words(analysis);
    finding.evidence.push_back(guess);
    finding.sentences.push_back(guess + ".");
  }
  finding.remedy = fmt::format(
      "look for what stores the result of {} {}: a list, a dictionary, an attribute. The trace does not show "
      "the holder. Keep figures (.item()) or only the last result, or write it to a file. 100 more such {} "
      "take {}",
      trail.line, regular ? "in these steps" : "in each " + event, phases.guessed ? "cycles" : "events",
      size(static_cast<std::int64_t>(100 * static_cast<std::uint64_t>(finding.bytes))));
  return finding;
}

// True if all blocks of the leak are tensors.
bool are_tensors(const EventLeak& leak) {
  for (const EventTrail& trail : leak.trails)
    for (const LeftBlock* block : trail.blocks)
      if (!block->tensor) return false;
  return true;
}

PeakCandidate candidate_of(const ProcessAnalysis& analysis, const EventLeak& leak, const Finding& finding) {
  const MemoryId memory = leak.largest().memory;
  LeadingPeak leading = leading_peak(analysis, memory);
  if (leading.measure == replay::Measure::tensor && memory == 0 && !are_tensors(leak))
    leading = live_peak(analysis, memory);
  PeakCandidate out;
  out.excluded = {.memory = memory, .measure = leading.measure};
  out.excluded.births.emplace(); // no block is excluded from its birth
  std::vector<replay::LeftByEvent>& excluded = out.excluded.left_by_events;
  for (const EventTrail& trail : leak.trails)
    for (const LeftBlock* block : trail.blocks) excluded.push_back({block->birth, block->over});
  std::sort(excluded.begin(), excluded.end(), [](const auto& a, const auto& b) { return a.birth < b.birth; });
  out.judge = [&analysis, finding, leading](const replay::Without& without) {
    return with_saving(analysis, finding, leading, without, analysis.cycles ? "cycles" : "events");
  };
  return out;
}

// The instants to look at what the steps left: the death, else the highest point of the last step.
std::map<MemoryId, trace::Ordinal> ends_of(const ProcessAnalysis& analysis) {
  std::map<MemoryId, trace::Ordinal> out;
  for (const auto& [memory, peaks] : analysis.account.peaks) {
    const replay::Measure measure = memory == 0 ? replay::Measure::live : replay::Measure::tensor;
    out[memory] = died_with(analysis, memory) ? analysis.death->then.at
                                              : end_instant(analysis.account, memory, measure).at;
  }
  return out;
}

// True if some memory holds blocks of several steps then. A trace without is not replayed.
bool steps_left_some(const ProcessAnalysis& analysis, const RecurringPhases& phases,
                     const std::map<MemoryId, trace::Ordinal>& ends) {
  for (const auto& [memory, at] : ends) {
    std::set<replay::Step> steps;
    std::int64_t bytes = 0;
    for (const replay::Holding& one :
         analysis.set({memory, memory == 0 ? replay::Measure::live : replay::Measure::tensor, at})) {
      const auto step = static_cast<std::int64_t>(one.born_step);
      if (one.sampled || step < phases.range.from || step > phases.range.to) continue;
      steps.insert(one.born_step);
      bytes = replay::wrapping_add(bytes, one.bytes);
    }
    if (steps.size() >= kFewestEvents && bytes >= kLeastOfEvents) return true;
  }
  return false;
}

} // namespace

EventLeakCandidates propose_event_leaks(ProcessAnalysis& analysis) {
  EventLeakCandidates out;
  const RecurringPhases phases = recurring_phases(analysis, kLeastOfEvents);
  replay::LeftQuestion question{ends_of(analysis), phases.counted, {}};
  if (phases.guessed && !phases.counted.empty()) {
    for (const replay::Cycle& cycle : analysis.cycles->each) question.cycles.push_back(cycle.begin);
    question.cycles.push_back(analysis.cycles->end);
  }
  if (phases.counted.empty() && !steps_left_some(analysis, phases, question.until)) return out;
  const replay::LeftBlocks left = replay::left_blocks(*analysis.trace, question, analysis.keyframes.get());
  for (const EventLeak& leak : event_leaks(analysis, phases, left)) {
    const Finding finding = event_finding(analysis, phases, left, leak);
    out.stacks.insert(finding.stacks.begin(), finding.stacks.end());
    out.each.push_back(candidate_of(analysis, leak, finding));
  }
  return out;
}

} // namespace memtrace::report
