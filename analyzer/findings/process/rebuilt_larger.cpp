// Purpose: finds memory that a program replaces by a larger block again and again, as torch.cat does.
#include "analyzer/findings/process/rebuilt_larger.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "analyzer/explain/leading_peak.h"
#include "analyzer/explain/leak_steps.h"
#include "analyzer/explain/thresholds.h"
#include "analyzer/findings/process/recurring_phases.h"
#include "analyzer/frameworks/function_names.h"
#include "analyzer/passes/rebuilt_blocks.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using replay::MemoryId;
using replay::RebuiltSeries;

constexpr std::size_t kFewestRebuilds = 8;          // fewer do not show that the growth goes on
constexpr std::int64_t kLeastPerRebuild = 16 << 10; // bytes, as of `leak-per-step`
constexpr std::int64_t kLeastInBlocks = 2 << 20;    // bytes
constexpr std::int64_t kLargestStart = 3;           // times the growth of one pass
constexpr std::size_t kParts = 3;

// Series with the same events: one cause.
struct Rebuilt {
  std::vector<const RebuiltSeries*> series; // the largest first
  bool steps = false;
  std::int64_t all_events = 0;

  const RebuiltSeries& largest() const { return *series.front(); }
  std::size_t rebuilds() const { return largest().events.size() - 1; }
  std::int64_t growth() const {
    std::int64_t out = 0;
    for (const RebuiltSeries* one : series)
      out = replay::wrapping_add(out, replay::wrapping_sub(one->bytes.back(), one->bytes.front()));
    return out;
  }
  bool each_step() const { return steps && 2 * static_cast<std::int64_t>(rebuilds()) > all_events; }
  std::int64_t per_event() const {
    const std::vector<std::int64_t>& events = largest().events;
    return growth() / (each_step() ? events.back() - events.front() : static_cast<std::int64_t>(rebuilds()));
  }
  std::int64_t held() const {
    std::int64_t out = 0;
    for (const RebuiltSeries* one : series) out = replay::wrapping_add(out, one->bytes.back());
    return out;
  }
};

bool joins(const symbols::Site& site) {
  const auto frames = symbols::frames_of_allocation(site);
  return std::any_of(frames.begin(), frames.end(), [](const symbols::SiteFrame& frame) {
    return frameworks::joins_arrays(frame.function, frame.python ? frame.file : std::string_view{});
  });
}

// Returns the stacks of joins that hold a worthwhile part of a memory's peak, or of what is alive at the end.
std::unordered_set<format::StackId> joins_at_peaks(ProcessAnalysis& analysis) {
  std::unordered_set<format::StackId> out;
  for (const auto& [memory, peaks] : analysis.account.peaks) {
    const LeadingPeak peak = leading_peak(analysis, memory);
    for (const auto* alive : {&alive_at_peak(analysis, peak), &alive_at_end(analysis, peak)})
      for (const replay::Holding& holding : *alive) {
        const auto bytes = static_cast<std::int64_t>(holding.bytes);
        if (holding.sampled || holding.stack == format::StackId{} || bytes < kLeastInBlocks / 2) continue;
        if (worthwhile(2 * bytes, peak.bytes) && joins(analysis.symbolizer->site(holding.stack)))
          out.insert(holding.stack);
      }
  }
  return out;
}

// True if each third of the events added between half and one and a half times the mean.
bool grows_by_the_same(const RebuiltSeries& series) {
  const std::size_t rebuilds = series.bytes.size() - 1;
  const std::int64_t mean = (series.bytes.back() - series.bytes.front()) / static_cast<std::int64_t>(rebuilds);
  for (std::size_t i = 0; i < kParts; ++i) {
    const std::size_t from = i * rebuilds / kParts, to = (i + 1) * rebuilds / kParts;
    const std::int64_t part = (series.bytes[to] - series.bytes[from]) / static_cast<std::int64_t>(to - from);
    if (part < mean / 2 || part > mean + mean / 2) return false;
  }
  return true;
}

// `events`: of the trace.
bool is_leak(const RebuiltSeries& series, bool steps, std::int64_t events) {
  if (series.bytes.size() <= kFewestRebuilds || !grows_by_the_same(series)) return false;
  const auto rebuilds = static_cast<std::int64_t>(series.bytes.size()) - 1;
  const std::int64_t each = (series.bytes.back() - series.bytes.front()) / rebuilds;
  if (each < kLeastPerRebuild) return false;
  return steps || (4 * rebuilds >= 3 * events && series.bytes.front() <= kLargestStart * each);
}

std::vector<Rebuilt> leaks_of(const replay::RebuiltBlocks& blocks, bool steps) {
  std::vector<const RebuiltSeries*> sorted;
  for (const RebuiltSeries& series : blocks.each)
    if (is_leak(series, steps, blocks.events)) sorted.push_back(&series);
  std::stable_sort(sorted.begin(), sorted.end(), [](const RebuiltSeries* a, const RebuiltSeries* b) {
    return a->bytes.back() > b->bytes.back();
  });
  std::vector<Rebuilt> out;
  for (const RebuiltSeries* series : sorted) {
    const auto known = std::find_if(out.begin(), out.end(), [series](const Rebuilt& one) {
      return one.largest().memory == series->memory && one.largest().events == series->events;
    });
    Rebuilt& leak = known != out.end() ? *known : out.emplace_back();
    leak.series.push_back(series);
    leak.steps = steps;
    leak.all_events = blocks.events;
  }
  return out;
}

std::string plural_of(const std::string& event) {
  return event + (event.ends_with('s') ? "es" : "s");
}

// Returns "evaluation", "generate call", "forward pass", or "step".
std::string event_of(const ProcessAnalysis& analysis, const Rebuilt& leak) {
  if (leak.steps) return "step";
  const std::string phase = analysis.account.paths.text(analysis.account.paths.last(leak.largest().born.path));
  return phase == "forward" ? "forward pass" : event_words(phase);
}

// Returns the lines that rebuild the blocks, the largest first.
std::vector<std::string> lines_of(ProcessAnalysis& analysis, const Rebuilt& leak) {
  std::vector<std::string> out;
  for (const RebuiltSeries* one : leak.series)
    if (const std::string& line = analysis.symbolizer->site(one->stack).line();
        std::find(out.begin(), out.end(), line) == out.end())
      out.push_back(line);
  return out;
}

std::string each_line(ProcessAnalysis& analysis, const Rebuilt& leak) {
  constexpr std::size_t kLines = 4;
  std::string out;
  for (std::size_t i = 0; i < std::min(kLines, leak.series.size()); ++i) {
    const RebuiltSeries& one = *leak.series[i];
    out += fmt::format("{}{} from {} to {}", i == 0 ? "" : "; ", analysis.symbolizer->site(one.stack).title(),
                       size(one.bytes.front()), size(one.bytes.back()));
  }
  if (leak.series.size() > kLines) out += fmt::format("; {} more", leak.series.size() - kLines);
  return out;
}

Finding finding_of(ProcessAnalysis& analysis, const Rebuilt& leak) {
  const RebuiltSeries& largest = leak.largest();
  const std::string event = event_of(analysis, leak);
  const std::string when = leak.each_step() ? "every step"
                           : leak.steps     ? fmt::format("in each of {} steps", leak.rebuilds())
                                            : "with each " + event;
  Finding finding;
  finding.id = leak.each_step() ? "leak-per-step" : "leak-per-event";
  finding.memory = largest.memory;
  finding.phase = analysis.account.paths.text(analysis.account.paths.last(largest.born.path));
  finding.bytes = leak.per_event();
  finding.certain = leak.steps && analysis.losses.total() == 0;
  finding.site = largest.stack;
  for (const RebuiltSeries* one : leak.series) finding.stacks.push_back(one->stack);
  std::sort(finding.stacks.begin(), finding.stacks.end());
  const std::vector<std::string> lines = lines_of(analysis, leak);
  const std::size_t more = lines.size() - 1;
  finding.title = fmt::format(
      "Memory grows by {} {}, at {}{}: {} are held after the last one", size(finding.bytes), when,
      lines.front(), more == 0 ? "" : fmt::format(" and {} more {}", more, more == 1 ? "line" : "lines"),
      size(leak.held()));
  const std::string each = each_line(analysis, leak);
  finding.evidence = {fmt::format("rebuilt larger each time: {} of {} {} replaced the blocks by larger ones",
                                  leak.rebuilds(), leak.all_events, plural_of(event)),
                      "first to last: " + each};
  finding.sentences = {fmt::format("It is rebuilt larger each time, in {} of {} {}: {}.", leak.rebuilds(),
                                   leak.all_events, plural_of(event), each),
                       "While a join makes the new block, the old one is alive, too."};
  finding.remedy = fmt::format(
      "clear what {} extends, or keep only its last part, when a conversation, an epoch or a file ends; of "
      "data "
      "that must stay, keep the parts in a list and join them once. 100 more such {} take {}",
      lines.front(), plural_of(event),
      size(static_cast<std::int64_t>(100 * static_cast<std::uint64_t>(finding.bytes))));
  return finding;
}

} // namespace

Findings find_rebuilt_larger(ProcessAnalysis& analysis) {
  replay::RebuiltQuestion question{joins_at_peaks(analysis),
                                   leak_steps(analysis.account).count() >= kFewestSteps};
  if (question.stacks.empty()) return {};
  Findings out;
  const replay::RebuiltBlocks blocks = replay::rebuilt_blocks(*analysis.trace, question);
  for (const Rebuilt& leak : leaks_of(blocks, question.steps))
    if (leak.growth() >= kLeastInBlocks &&
        worthwhile(leak.growth(), leading_peak(analysis, leak.largest().memory).bytes))
      out.push_back(finding_of(analysis, leak));
  return out;
}

} // namespace memtrace::report
