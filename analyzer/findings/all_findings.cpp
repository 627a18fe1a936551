// Purpose: the proven causes of a process's peaks and of its end.
#include "analyzer/findings/all_findings.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>
#include <unordered_set>

#include "analyzer/explain/leading_peak.h"
#include "analyzer/findings/common/peak_candidate.h"
#include "analyzer/findings/peak/first_step_only.h"
#include "analyzer/findings/peak/foreach_temporaries.h"
#include "analyzer/findings/peak/freed_by_gc.h"
#include "analyzer/findings/peak/input_driven.h"
#include "analyzer/findings/peak/kept_gradients.h"
#include "analyzer/findings/peak/loss_logits.h"
#include "analyzer/findings/peak/optimizer_states.h"
#include "analyzer/findings/peak/parameter_copy.h"
#include "analyzer/findings/peak/pinned_memory.h"
#include "analyzer/findings/peak/recompute_peak.h"
#include "analyzer/findings/peak/serialize_in_memory.h"
#include "analyzer/findings/peak/unused_graph.h"
#include "analyzer/findings/process/deaths.h"
#include "analyzer/findings/process/device_memory.h"
#include "analyzer/findings/process/leak_per_event.h"
#include "analyzer/findings/process/leak_per_step.h"
#include "analyzer/findings/process/orphan_shm.h"
#include "analyzer/findings/process/rebuilt_larger.h"
#include "analyzer/findings/process/resident_memory.h"
#include "analyzer/findings/process/retention_growth.h"
#include "analyzer/findings/process/starved.h"
#include "analyzer/findings/process/survived_failures.h"

namespace memtrace::report {
namespace {

template <class T>
void append(std::vector<T>& out, std::vector<T> more) {
  out.insert(out.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

bool shares_a_stack(const Finding& finding, const std::unordered_set<format::StackId>& stacks) {
  return stacks.contains(finding.site) ||
         std::any_of(finding.stacks.begin(), finding.stacks.end(),
                     [&](format::StackId one) { return stacks.contains(one); });
}

bool contains(const Findings& findings, const char* id, replay::MemoryId memory) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& one) { return one.id == id && one.memory == memory; });
}

Findings find_in_peaks(ProcessAnalysis& analysis) {
  PeakCandidates candidates;
  for (const auto propose :
       {propose_foreach, propose_loss, propose_recompute, propose_first_step, propose_serialized,
        propose_pinned_rounding, propose_parameter_copy, propose_kept_gradients, propose_freed_by_gc})
    append(candidates, propose(analysis));
  Findings leaks = find_leaks(analysis);
  append(candidates, propose_unused_graph(analysis, leaks));
  EventLeakCandidates of_events = propose_event_leaks(analysis);
  std::erase_if(leaks, [&](const Finding& leak) { return shares_a_stack(leak, of_events.stacks); });
  append(candidates, std::move(of_events.each));
  append(candidates, measure_leaks(analysis, leaks));
  Findings out = judge_together(analysis, candidates);
  append(out, find_rebuilt_larger(analysis));
  if (!contains(out, "parameter-copy", 0)) append(out, find_host_copy(analysis));
  for (const auto family :
       {find_input_driven, find_states, find_pinned_cache, find_in_devices, find_in_resident, find_orphans})
    append(out, family(analysis));
  append(out, find_retention_growth(analysis));
  append(out, find_starved(analysis));
  append(out, find_survived(analysis));
  return out;
}

// True if the finding says how the process ended.
bool ends_it(const Finding& finding) {
  return finding.id == "cuda-oom" || finding.id == "allocation-failed" || finding.id == "shm-full";
}

// Sets the bytes of the finding's blocks at the peak and at the end. A finding whose blocks are not known by
// their stacks is about the peak, or about the whole process. There, its bytes are what it holds. An allocation
// that failed and pages that were dropped hold nothing. The site of `retention-growth` is that of blocks that
// were freed, and a context has no recorded bytes.
void weigh(const ProcessAnalysis& analysis, Finding& finding) {
  if (ends_it(finding) || finding.id == "allocation-retried" || finding.id == "starved-for-memory") return;
  finding.bytes_at_peak = finding.bytes_at_end = finding.bytes;
  if (finding.id == "retention-growth" || finding.id == "device-context" ||
      !analysis.account.peaks.contains(finding.memory))
    return;
  if (!finding.stacks.empty())
    finding.bytes_at_peak =
        bytes_of(alive_at_peak(analysis, leading_peak(analysis, finding.memory)), finding.stacks);
  if (finding.stacks.empty() && finding.site == format::StackId{}) return;
  finding.bytes_at_end = held_at_end(analysis, finding.memory,
                                     finding.stacks.empty() ? std::vector{finding.site} : finding.stacks);
}

// Puts first what ended the process, then the causes, largest first, then facts. Memory that was never touched
// is the last of these, because no limit counts it. At a death, the bytes at the death count, else those at the
// peak.
void put_in_order(Findings& findings, bool died) {
  std::stable_sort(findings.begin(), findings.end(), [died](const Finding& a, const Finding& b) {
    const auto held = [died](const Finding& one) { return died ? one.bytes_at_end : one.bytes_at_peak; };
    const auto place = [](const Finding& one) {
      return std::tuple(!ends_it(one), states_a_fact(one), one.id == "reserved-not-resident");
    };
    if (place(a) != place(b)) return place(a) < place(b);
    return held(a) != held(b) ? held(a) > held(b) : a.id < b.id;
  });
}

// Returns the stacks of the findings with this id.
std::unordered_set<format::StackId> stacks_of(const Findings& findings, const char* id) {
  std::unordered_set<format::StackId> out;
  for (const Finding& finding : findings)
    if (finding.id == id) out.insert(finding.stacks.begin(), finding.stacks.end());
  out.erase(format::StackId{}); // blocks without a stack are of any place
  return out;
}

// Removes the causes that another one explains. Graphs that no backward uses may grow with each step. Logits or
// serialized bytes that a step or an event keeps for good are a leak. A leak leaves free memory between its
// blocks, and a level that is kept may have grown.
void remove_explained(Findings& findings) {
  const auto remove = [&findings](const char* id, const std::unordered_set<format::StackId>& explained) {
    std::erase_if(findings, [&](const Finding& one) { return one.id == id && shares_a_stack(one, explained); });
  };
  const std::unordered_set<format::StackId> unused = stacks_of(findings, "graph-kept-in-eval");
  for (const char* id : {"leak-per-step", "leak-per-event", "first-step-only", "loss-logits"})
    remove(id, unused);
  remove("loss-logits", stacks_of(findings, "leak-per-step"));
  const std::unordered_set<format::StackId> by_events = stacks_of(findings, "leak-per-event");
  for (const char* id : {"loss-logits", "serialize-in-memory"}) remove(id, by_events);
  const auto remove_all = [&findings](const char* id) {
    std::erase_if(findings, [id](const Finding& one) { return one.id == id; });
  };
  if (contains(findings, "leak-per-step", 0) || contains(findings, "leak-per-event", 0))
    remove_all("retention-growth");
  if (contains(findings, "retention-growth", 0)) remove_all("allocator-retention");
}

} // namespace

bool states_a_fact(const Finding& finding) {
  constexpr std::array kFacts = {
      "oom-kill",   "device-context",    "page-cache-not-memory", "reserved-not-resident",
      "orphan-shm", "allocation-retried"};
  return std::any_of(kFacts.begin(), kFacts.end(), [&](const char* id) { return finding.id == id; });
}

Findings find(ProcessAnalysis& analysis) {
  Findings out;
  if (analysis.death) {
    out = find_in_death(analysis);
    append(out, find_serialized_at_death(analysis));
  }
  append(out, find_in_peaks(analysis));
  remove_explained(out);
  for (Finding& finding : out) weigh(analysis, finding);
  put_in_order(out, analysis.death.has_value());
  return out;
}

replay::MemoryId main_memory(const ProcessAnalysis& analysis, const Findings& findings,
                             const std::optional<std::string>& asked) {
  if (asked) {
    const auto wanted = memory_named(*asked);
    if (wanted && analysis.account.peaks.contains(*wanted)) return *wanted;
  }
  if (!findings.empty() && analysis.account.peaks.contains(findings.front().memory))
    return findings.front().memory;
  replay::MemoryId best = 0;
  for (const auto& [memory, peaks] : analysis.account.peaks) {
    if (peaks.tensor.bytes > analysis.account.peaks.at(best).tensor.bytes) best = memory;
  }
  return best;
}

} // namespace memtrace::report
