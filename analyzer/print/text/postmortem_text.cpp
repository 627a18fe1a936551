// Purpose: writes as text how a process ended, what held memory then, and what would have fit.
#include "analyzer/print/text/postmortem_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/explain/rings_only.h"
#include "analyzer/explain/uncertainty.h"
#include "analyzer/findings/all_findings.h"
#include "analyzer/job/evidence_query.h"
#include "analyzer/print/text/held_table.h"
#include "analyzer/print/text/ledger_text.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/torch_snapshot_text.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

constexpr char kLeftBehind[] = "orphan-shm";

class Postmortem {
 public:
  Postmortem(ProcessAnalysis& analysis, const Findings& findings, const std::vector<JobPeer>& others,
             const TextStyle& style)
      : analysis_(analysis), findings_(findings), others_(others), style_(style), lines_(style.screen) {}

  std::string write() {
    lines_.strong(printable(verdict()));
    if (const std::string off = uncertainty_text(analysis_); !off.empty()) lines_.paragraph("", off);
    process();
    for (const std::string& line : analysis_.end.evidence)
      if (!of_snapshot()) lines_.paragraph("  ", printable(line));
    if (analysis_.death) {
      limit();
      largest_of_job();
      rest_of_job();
      job();
      held();
      filling();
      course();
      needed();
    } else {
      rest_of_job();
    }
    left_behind();
    losses();
    return lines_.take();
  }

 private:
  const Death& death() const { return *analysis_.death; }
  bool of_snapshot() const { return torch_history(analysis_.facts()).has_value(); }
  std::string place() const { return analysis_.place(death().then.place.path, death().then.place.step); }
  const Finding* finding(const char* id) const {
    for (const Finding& one : findings_) {
      if (one.id == id) return &one;
    }
    return nullptr;
  }

  // A buffer that is written to grows by parts of itself, so a small one may end the process, too.
  static std::int64_t share_of(const Finding& one) { return one.id == "serialize-in-memory" ? 20 : 5; }

  // Returns the largest cause that held at least a fifth of the live bytes at the death, or null. The second
  // copy of a checkpoint comes first: its remedy is the most specific.
  const Finding* cause() const {
    if (const Finding* copy = finding("second-copy-on-load")) return copy;
    for (const Finding& one : findings_)
      if (!states_a_fact(one) && one.memory == death().then.memory && one.bytes_at_end > 0 &&
          one.bytes_at_end >= death().then.level.live / share_of(one))
        return &one;
    return nullptr;
  }

  std::string verdict() {
    const char* const sure = analysis_.end.certain ? "certain" : "likely";
    if (killed_for_memory(analysis_.end)) {
      if (const double seconds = analysis_.end.witness.unrecorded; seconds > 0)
        return fmt::format(
            "Killed for memory ({}), {} after the last record of this trace. The figures below are those of "
            "the "
            "last record.",
            sure, duration(seconds));
      const std::string by = analysis_.end.manager.empty() ? "" : " by " + analysis_.end.manager;
      std::string text = fmt::format("Killed for memory{} ({}) {}", by, sure, place());
      if (const Finding* one = cause()) return text + ": " + one->title + (one->certain ? "." : " (likely).");
      if (death().filling)
        return text + fmt::format(": it was writing to a new block of {}, {}.",
                                  sized(death().filling->block.bytes),
                                  site_and_caller(analysis_, death().filling->block.stack));
      return text + ".";
    }
    if (analysis_.end.how == "killed_by_manager") {
      std::string text = ended(analysis_.end);
      text[0] = 'K';
      return fmt::format("{} ({}): not killed for memory.", text, sure);
    }
    for (const char* id : {"cuda-oom", "allocation-failed", "shm-full"}) {
      if (const Finding* one = finding(id)) {
        if (of_snapshot()) return fmt::format("Out of memory {}: {}.", place(), one->title);
        return fmt::format(
            "{} ({}) {}: {}", analysis_.end.how == "exit" ? "Gave up" : "Ended",
            one->certain ? "certain" : "likely", place(),
            one->title + (analysis_.end.how == "unknown" ? ", and it ended without a word."
                                                         : ", and it " + ended(analysis_.end) + "."));
      }
    }
    if (of_snapshot()) return "No failure to explain: the history of this snapshot ends without one.";
    if (analysis_.end.how == "unknown")
      return analysis_.end.code == 0
                 ? "Ended without a word, cause unknown. Nothing says that it was for memory."
                 : "Killed (SIGKILL), cause unknown. Nothing says that it was for memory.";
    if (analysis_.end.how == "signal")
      return fmt::format("It {}: not killed for memory.", ended(analysis_.end));
    return fmt::format("No death to explain: it {}.",
                       analysis_.end.how == "running" ? "is still running" : ended(analysis_.end));
  }

  void process() {
    const trace::Facts& facts = analysis_.facts();
    if (of_snapshot()) {
      lines_.paragraph("", fmt::format("{}  PyTorch's memory snapshot", script(facts)));
      return;
    }
    std::string text = fmt::format("{}  pid {}  {}", script(facts), facts.pid, analysis_.kind);
    if (facts.rank != trace::kNoRank && facts.world_size > 1)
      text +=
          fmt::format("{} {} of {}", analysis_.kind == "rank" ? "" : " of rank", facts.rank, facts.world_size);
    text += fmt::format("  host {}", printable(facts.host));
    if (!facts.job.empty()) text += fmt::format("  job {}", printable(facts.job));
    if (facts.attempt > 1) text += fmt::format(" attempt {}", facts.attempt);
    lines_.paragraph("", text + "  " + duration(analysis_.seconds(facts.last_stamp)));
  }

  std::string before_then(format::Stamp stamp) const {
    const format::Stamp then = death().then.stamp;
    return duration(then > stamp ? static_cast<double>(then - stamp) / 1e9 : 0);
  }
  // Returns the time between a sampled figure and the explained instant.
  std::string sampled(format::Stamp stamp) const {
    const format::Stamp then = death().then.stamp;
    if (stamp <= then) return fmt::format("{} before {}", before_then(stamp), the_instant());
    return fmt::format("{} after {}", duration(static_cast<double>(stamp - then) / 1e9), the_instant());
  }
  const char* the_instant() const { return death().failure != nullptr ? "the failure" : "the last record"; }

  // Writes the limit, with its last samples.
  void limit() {
    if (!death().limit) return;
    std::string text = fmt::format("limit: {} of {}", sized(*death().limit), printable(death().limit_of));
    if (death().charge)
      text += fmt::format("; {} of it used {}", sized(*death().charge), sampled(death().charge_at));
    if (const trace::SampledCgroup* const group = death().group) text += charged(*group);
    lines_.paragraph("  ", text);
    other_limits();
    pressure();
  }

  // Returns the parts of a cgroup's charge.
  static std::string charged(const trace::SampledCgroup& group) {
    const trace::GroupSample& last = *group.last;
    std::string text = fmt::format(": anon {}, file {}", sized(last.anon), sized(last.file));
    if (last.shmem != trace::kNotSaid) text += fmt::format(", shmem {}", sized(last.shmem));
    if (last.kernel != trace::kNotSaid) text += fmt::format(", kernel {}", sized(last.kernel));
    if (group.limits && group.limits->met != trace::kNotSaid && group.limits->met != 0)
      text += fmt::format("; it had met its limit {} times", count(group.limits->met));
    return text;
  }

  // Writes the other limits of the process's cgroup and of the cgroups above it.
  void other_limits() {
    for (const trace::SampledCgroup& group : death().last.samples.groups()) {
      if (&group == death().group || group.left || !group.last || group.last->limit == trace::kNotSaid)
        continue;
      lines_.paragraph(
          "  ",
          fmt::format("not met: {} of {} of cgroup {}", sized(group.last->charge), sized(group.last->limit),
                      printable(kernels_path(analysis_.trace->definitions().text(group.path)))));
    }
  }

  // Writes the memory pressure of the cgroup if the kernel reports it, else of the machine.
  void pressure() {
    const trace::SampledCgroup* const group = death().group;
    const bool of_group = group != nullptr && group->pressure;
    const std::optional<trace::Pressure>& said = of_group ? group->pressure : death().last.samples.pressure();
    constexpr double kWorthTelling = 1; // percent
    if (!said || said->some_avg10 < kWorthTelling) return;
    lines_.paragraph("  ", fmt::format("pressure of memory {} in 10 s, {}: some {:.0f} %, full {:.0f} %",
                                       of_group ? "in it" : "on the machine", sampled(said->stamp),
                                       said->some_avg10, said->full_avg10));
  }

  // Names the process of the job that held most then, if it is another one: a manager may choose a small one.
  void largest_of_job() {
    if (!killed_for_memory(analysis_.end)) return;
    const JobPeer* largest = nullptr;
    std::uint64_t most = death().resident.anon;
    for (const JobPeer& other : others_) {
      if (!other.then || other.then->anon <= most) continue;
      largest = &other;
      most = other.then->anon;
    }
    if (largest == nullptr) return;
    lines_.paragraph("  ", fmt::format("the largest process of the job then: {}, {} anonymous; this one had {}",
                                       name_of(largest->kind, largest->rank, largest->pid), sized(most),
                                       sized(death().resident.anon)));
  }

  void rest_of_job() {
    if (others_.empty()) return;
    const auto died = [](const JobPeer& other) { return other.later < 0 && other.end.how != "exit"; };
    if (analysis_.death && std::none_of(others_.begin(), others_.end(), died))
      lines_.plain("  no process of the job died earlier");
    if (analysis_.death) return;
    for (const JobPeer& other : others_)
      lines_.plain(fmt::format("  {}: {}", name_of(other.kind, other.rank, other.pid), ended(other.end)));
  }

  // Writes all processes of the job and the sum of their memory.
  void job() {
    if (others_.empty()) return;
    lines_.plain("");
    write_job_ledger(job_ledger(analysis_, others_), lines_);
  }

  std::string site(format::StackId stack) {
    return stack == format::StackId{} ? "no stack" : printable(analysis_.symbolizer->site(stack).title());
  }

  std::string held_title() const {
    const replay::MemoryId memory = death().then.memory;
    if (memory != 0) return "held on " + memory_name(memory);
    if (analysis_.end.witness.unrecorded > 0) return "held at the last record";
    return death().failure != nullptr ? "held when it failed" : "held at death";
  }

  void held() {
    const DeathInstant& then = death().then;
    // On a device, the sites of PyTorch's blocks are more informative than those of its segments.
    const bool blocks = then.memory != 0 && then.level.tensor != 0;
    const replay::Measure measure = blocks ? replay::Measure::tensor : replay::Measure::live;
    const replay::Holdings& alive = analysis_.set({then.memory, measure, then.at});
    const std::uint64_t reserved = untouched(alive);
    const std::int64_t total =
        blocks ? then.level.tensor : replay::wrapping_sub(then.level.live, static_cast<std::int64_t>(reserved));
    lines_.plain("");
    write_held(analysis_,
               {.set = alive,
                .total = total,
                .unit = unit_for(total),
                .title = held_title(),
                .sum = "total",
                .at = "",
                .others = "see --format json",
                .of_tensors = blocks,
                .now = then.place.step},
               style_.holders, lines_);
    if (blocks)
      lines_.paragraph("  ", fmt::format("in segments of {}", size(then.level.live)));
    else if (then.level.tensor != 0)
      lines_.paragraph("  ", fmt::format("of it tensors {}", size(then.level.tensor)));
    if (reserved != 0)
      lines_.paragraph("  ", fmt::format("reserved and never touched, not counted above: {}", sized(reserved)));
    if (then.memory != 0) return;
    if (const std::string text = retained(); !text.empty()) lines_.paragraph("  ", text);
    lines_.paragraph("  ", resident());
  }

  // Returns what malloc retained at the last ledger, or "" if that is not known or little.
  std::string retained() const {
    const auto& last = analysis_.account.ledgers.last();
    if (!last || !last->allocator_asked) return "";
    const auto& kept = last->rows[static_cast<std::size_t>(format::LedgerRow::kept)];
    if (!kept || kept->resident < last->total / 100) return "";
    return fmt::format("and {} retained by malloc: freed, and not returned to the kernel ({})",
                       sized(kept->resident), sampled(last->stamp));
  }

  std::string resident() const {
    const replay::Resident& resident = death().resident;
    std::string text = fmt::format("resident {}: anon {}, file {}, shmem {}",
                                   death().at_kill ? "at the kill" : "at the last sample", sized(resident.anon),
                                   sized(resident.file), sized(resident.shmem));
    // The program's static data has anonymous pages, too. So at least `without` live bytes have no pages.
    const std::int64_t without = replay::wrapping_sub(
        death().then.level.live, static_cast<std::int64_t>(resident.anon + resident.shmem));
    const auto& process = death().last.samples.process();
    if (death().at_kill && process && process->swap == 0 && without > death().then.level.live / 100)
      text += fmt::format("; {} of live had no pages yet", size(without));
    return text;
  }

  void filling() {
    if (death().filling && analysis_.end.witness.unrecorded == 0) {
      const BlockBeingFilled& block = *death().filling;
      std::string text = fmt::format("being filled: {}", sized(block.block.bytes));
      text += block.touched ? fmt::format(" (about {} touched)", sized(*block.touched))
                            : " (how much of it was touched is not known)";
      lines_.paragraph("", text + ": " + site_and_caller(analysis_, block.block.stack) + ", " + place());
    }
    last_births();
  }

  // Writes the last blocks, newest first. Equal neighbours share an entry.
  void last_births() {
    const std::vector<replay::RecentBirth>& all = death().then.births;
    std::string text;
    for (std::size_t i = 0, end = 0; i < all.size() && text.size() < 160; i = end) {
      for (end = i; end < all.size() && all[end].bytes == all[i].bytes && all[end].stack == all[i].stack;)
        ++end;
      std::string each = fmt::format("{} {} before", sized(all[i].bytes), before_then(all[i].stamp));
      if (end - i > 1)
        each = fmt::format("{} of {} in the last {}", end - i, sized(all[i].bytes),
                           before_then(all[end - 1].stamp));
      text += fmt::format("{} {}, {}", text.empty() ? "" : ";", each, site(all[i].stack));
    }
    if (!text.empty()) lines_.paragraph("", "last allocations:" + text);
  }

  void course() {
    const replay::EndState& last = death().last;
    const DeathInstant& then = death().then;
    if (then.memory != 0) return;
    std::string text;
    for (const double ago : {600.0, 60.0, 10.0, 1.0, 0.1}) {
      const auto ns = static_cast<format::Stamp>(ago * 1e9);
      if (then.stamp < analysis_.facts().start_stamp + ns) continue;
      const replay::Moment* const moment = last.before(then.stamp - ns);
      if (moment == nullptr) continue;
      text += fmt::format("{} {} {} before", text.empty() ? "" : ",", size(moment->level.live), duration(ago));
    }
    if (!text.empty())
      lines_.paragraph(
          "", fmt::format("growth of all allocations, with reservations:{}, {} at {}", text,
                          size(then.level.live), death().failure != nullptr ? "the failure" : "the end"));
  }

  // Returns the bytes of the block being filled that were not in memory yet, at most.
  std::uint64_t lacking() const {
    return death().filling ? death().filling->block.bytes - death().filling->touched.value_or(0) : 0;
  }

  // Writes what would have fit, and the remedy. After a time without records, both are unknown.
  void needed() {
    if (analysis_.end.witness.unrecorded > 0) return;
    if (death().limit && death().filling && analysis_.end.how == "oom_kill") {
      const BlockBeingFilled& block = *death().filling;
      const std::uint64_t short_by = lacking();
      std::string text =
          fmt::format("needed: {}{} more than {} to fill this block alone", block.touched ? "about " : "up to ",
                      sized(short_by), sized(*death().limit));
      if (const Finding* copy = finding("second-copy-on-load"))
        text += fmt::format(
            "; without the second copy, {} would have been enough so far",
            size(replay::wrapping_sub(static_cast<std::int64_t>(*death().limit + short_by), copy->bytes)));
      lines_.paragraph("", text);
    }
    const Finding* remedy = cause();
    if (remedy != nullptr && remedy->id != "second-copy-on-load" && death().limit &&
        analysis_.end.how == "oom_kill")
      lines_.paragraph(
          "", fmt::format("would fit: {}, without the {} of the cause above",
                          size(replay::wrapping_sub(static_cast<std::int64_t>(*death().limit + lacking()),
                                                    remedy->bytes_at_end)),
                          size(remedy->bytes_at_end)));
    for (const Finding& one : findings_)
      // leftovers of a job did not cause the kill
      if (remedy == nullptr && one.id != kLeftBehind) remedy = &one;
    if (remedy != nullptr) fix(*remedy);
    if (analysis_.end.how == "unknown" && analysis_.end.code == 0 && !of_snapshot())
      lines_.paragraph(
          "",
          "To know more: --evidence FILE (a pod's JSON, the output of sacct, a log of the kernel or of what "
          "manages the job); memtrace "
          "run -- CMD sees how it ends");
  }

  void left_behind() {
    const Finding* const left = finding(kLeftBehind);
    if (left == nullptr) return;
    lines_.paragraph("",
                     fmt::format("left behind ({}): {}", left->certain ? "certain" : "likely", left->title));
    fix(*left);
  }

  void fix(const Finding& one) { lines_.labelled("Fix      ", "         ", printable(one.remedy)); }

  void losses() {
    if (of_snapshot()) return; // its events are not those of a recording
    std::string text = fmt::format("events: {}, lost: {}", count(analysis_.account.counts.records),
                                   count(analysis_.losses.total()));
    if (analysis_.losses.damaged_bytes != 0)
      text += fmt::format("; {} bytes are damaged", count(analysis_.losses.damaged_bytes));
    if (const auto own = analysis_.own_bytes()) text += fmt::format("; memtrace's own memory: {}", sized(*own));
    lines_.paragraph("", text);
    if (const std::string limited = rings_only_text(analysis_); !limited.empty()) lines_.paragraph("", limited);
  }

  ProcessAnalysis& analysis_;
  const Findings& findings_;
  const std::vector<JobPeer>& others_;
  const TextStyle& style_;
  Lines lines_;
};

} // namespace

std::string postmortem_text(ProcessAnalysis& analysis, const Findings& findings,
                            const std::vector<JobPeer>& others, const TextStyle& style) {
  return Postmortem(analysis, findings, others, style).write();
}

} // namespace memtrace::report
