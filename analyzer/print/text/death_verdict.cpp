// Purpose: states in one sentence how a process ended, and the finding that was its cause.
#include "analyzer/print/text/death_verdict.h"

#include <fmt/core.h>

#include "analyzer/findings/all_findings.h"
#include "analyzer/print/text/held_table.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/torch_snapshot_text.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

// A buffer that is written to grows by parts of itself, so a small one may end the process, too.
std::int64_t share_of(const Finding& one) {
  return one.id == "serialize-in-memory" ? 20 : 5;
}

const char* sure(bool certain) {
  return certain ? "certain" : "likely";
}

std::string killed_verdict(ProcessAnalysis& analysis, const Findings& findings) {
  const ProcessEnd& end = analysis.end;
  if (const double seconds = end.witness.unrecorded; seconds > 0)
    return fmt::format(
        "Killed for memory ({}), {} after the last record of this trace. The figures below are those of the "
        "last record.",
        sure(end.certain), duration(seconds));
  const std::string by = end.manager.empty() ? "" : " by " + end.manager;
  std::string text =
      fmt::format("Killed for memory{} ({}) {}", by, sure(end.certain), place_of_death(analysis));
  if (const Finding* one = find_cause(analysis, findings))
    return text + ": " + one->title + (one->certain ? "." : " (likely).");
  if (!analysis.death->filling) return text + ".";
  const replay::RecentBirth& block = analysis.death->filling->block;
  return text + fmt::format(": it was writing to a new block of {}, {}.", sized(block.bytes),
                            site_and_caller(analysis, block.stack));
}

std::string failed_verdict(const ProcessAnalysis& analysis, const Findings& findings, const Finding& failure) {
  const std::string place = place_of_death(analysis);
  if (torch_history(analysis.facts())) return fmt::format("Out of memory {}: {}.", place, failure.title);
  std::string text = fmt::format(
      "{} ({}) {}: {}", analysis.end.how == "exit" ? "Gave up" : "Ended", sure(failure.certain), place,
      failure.title + (analysis.end.how == "unknown" ? ", and its end was not recorded."
                                                     : ", and it " + ended(analysis.end) + "."));
  const Finding* const cause = find_cause(analysis, findings);
  if (cause == nullptr || cause == &failure) return text;
  return text + " The cause: " + cause->title + (cause->certain ? "." : " (likely).");
}

} // namespace

const Finding* finding_of(const Findings& findings, const char* id) {
  for (const Finding& one : findings)
    if (one.id == id) return &one;
  return nullptr;
}

const Finding* find_cause(const ProcessAnalysis& analysis, const Findings& findings) {
  if (const Finding* copy = finding_of(findings, "second-copy-on-load")) return copy;
  const DeathInstant& then = analysis.death->then;
  for (const Finding& one : findings)
    if (!states_a_fact(one) && one.memory == then.memory && one.bytes_at_end > 0 &&
        one.bytes_at_end >= then.level.live / share_of(one))
      return &one;
  return nullptr;
}

std::string place_of_death(const ProcessAnalysis& analysis) {
  const replay::PhasePosition& place = analysis.death->then.place;
  return analysis.place(place.path, place.step);
}

std::string death_verdict(ProcessAnalysis& analysis, const Findings& findings) {
  const ProcessEnd& end = analysis.end;
  if (killed_for_memory(end)) return killed_verdict(analysis, findings);
  if (end.how == "killed_by_manager") {
    std::string text = ended(end);
    text[0] = 'K';
    return fmt::format("{} ({}): not killed for memory.", text, sure(end.certain));
  }
  for (const char* id : {"cuda-oom", "allocation-failed", "shm-full"})
    if (const Finding* one = finding_of(findings, id)) return failed_verdict(analysis, findings, *one);
  if (torch_history(analysis.facts()))
    return "No failure to explain: the history of this snapshot ends without one.";
  if (end.how == "unknown")
    return end.code == 0 ? "Ended, cause unknown. No evidence of an OOM kill."
                         : "Killed (SIGKILL), cause unknown. No evidence of an OOM kill.";
  if (end.how == "signal") return fmt::format("It {}: not killed for memory.", ended(end));
  return fmt::format("No death to explain: it {}.", end.how == "running" ? "is still running" : ended(end));
}

} // namespace memtrace::report
