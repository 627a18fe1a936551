// Purpose: writes as text how a process ended, what held memory then, and what would have fit.
#include "analyzer/print/text/postmortem_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/explain/rings_only.h"
#include "analyzer/explain/uncertainty.h"
#include "analyzer/findings/all_findings.h"
#include "analyzer/print/text/death_limits.h"
#include "analyzer/print/text/death_verdict.h"
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
    lines_.strong(printable(death_verdict(analysis_, findings_)));
    if (const std::string off = uncertainty_text(analysis_); !off.empty()) lines_.paragraph("", off);
    process();
    for (const std::string& line : analysis_.end.evidence)
      if (!of_snapshot()) lines_.paragraph("  ", printable(line));
    if (analysis_.death) {
      write_death_limits(analysis_, lines_);
      write_largest_of_job(analysis_, others_, lines_);
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

  void process() {
    const trace::Facts& facts = analysis_.facts();
    if (of_snapshot()) {
      lines_.paragraph("", fmt::format("{}  PyTorch's memory snapshot", script(facts)));
      return;
    }
    std::string text = fmt::format("{}  pid {}  {}", script(facts), facts.pid, analysis_.kind);
    if (facts.rank != trace::kNoRank && facts.world_size > 1)
      text += fmt::format("{} {} of {}{}", analysis_.kind == "rank" ? "" : " of rank", facts.rank,
                          facts.world_size, place_in(facts));
    text += fmt::format("  host {}", printable(facts.host));
    if (!facts.job.empty()) text += fmt::format("  job {}", printable(facts.job));
    if (facts.attempt > 1) text += fmt::format(" attempt {}", facts.attempt);
    lines_.paragraph("", text + "  " + duration(analysis_.seconds(facts.last_stamp)));
  }

  std::string before_then(format::Stamp stamp) const {
    const format::Stamp then = death().then.stamp;
    return duration(then > stamp ? static_cast<double>(then - stamp) / 1e9 : 0);
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
                .of_device = then.memory != 0,
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
                       sized(kept->resident), when_sampled(death(), last->stamp));
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
      lines_.paragraph(
          "", text + ": " + site_and_caller(analysis_, block.block.stack) + ", " + place_of_death(analysis_));
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
      if (const Finding* copy = finding_of(findings_, "second-copy-on-load"))
        text += fmt::format(
            "; without the second copy, {} would have been enough so far",
            size(replay::wrapping_sub(static_cast<std::int64_t>(*death().limit + short_by), copy->bytes)));
      lines_.paragraph("", text);
    }
    const Finding* remedy = find_cause(analysis_, findings_);
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
    const Finding* const left = finding_of(findings_, kLeftBehind);
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
