// Purpose: writes the text report: what happened, the causes with their remedies, then the evidence.
#include "analyzer/print/text/report_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "analyzer/explain/next_peak.h"
#include "analyzer/explain/thresholds.h"
#include "analyzer/explain/training_peak.h"
#include "analyzer/explain/uncertainty.h"
#include "analyzer/findings/all_findings.h"
#include "analyzer/print/text/cycles_text.h"
#include "analyzer/print/text/device_text.h"
#include "analyzer/print/text/finding_text.h"
#include "analyzer/print/text/grouped_table.h"
#include "analyzer/print/text/held_table.h"
#include "analyzer/print/text/largest_lines.h"
#include "analyzer/print/text/ledger_text.h"
#include "analyzer/print/text/losses_text.h"
#include "analyzer/print/text/phase_table.h"
#include "analyzer/print/text/report_view.h"
#include "analyzer/print/text/snapshots_text.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/torch_snapshot_text.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

class ReportText {
 public:
  ReportText(ProcessAnalysis& analysis, const Findings& findings, const Options& options,
             const TextStyle& style)
      : analysis_(analysis),
        findings_(findings),
        style_(style),
        view_(analysis, main_memory(analysis, findings, options.memory)),
        lines_(style.screen) {}

  std::string write() {
    process();
    if (const auto history = torch_history(analysis_.facts())) lines_.paragraph("", history_text(*history));
    if (const std::string off = uncertainty_text(analysis_); !off.empty()) lines_.paragraph("", off);
    causes();
    most();
    if (const std::string guess = cycles_text(analysis_); !guess.empty()) lines_.paragraph("", guess);
    lines_.gap();
    parameters();
    write_phases(view_, style_.all_steps, lines_);
    holders();
    write_snapshots(analysis_, view_.leading.memory, style_.all, lines_);
    others();
    write_devices(analysis_, lines_);
    ledger();
    headroom();
    write_losses(analysis_, lines_);
    return lines_.take();
  }

 private:
  // Writes the first line: the process, its end, and how much memory it used.
  void process() {
    const trace::Facts& facts = analysis_.facts();
    std::string text = script(facts);
    const bool worker = analysis_.kind == "worker"; // it has the rank of the process that started it
    if (worker) text += "  worker";
    if (facts.rank != trace::kNoRank && facts.world_size > 1)
      text += fmt::format("{} rank {} of {}{}", worker ? " of" : " ", facts.rank, facts.world_size,
                          place_in(facts));
    const std::string time = duration(analysis_.seconds(facts.last_stamp));
    if (const auto history = torch_history(facts))
      text += "  PyTorch's memory snapshot" + (history->events != 0 ? " after " + time : "") + "   ";
    else
      text += fmt::format("  pid {}  {} after {}   ", facts.pid, finished(), time);
    if (view_.leading.memory != 0) {
      text += memory_name(view_.leading.memory);
      if (const auto device = facts.devices.find(view_.leading.memory); device != facts.devices.end())
        text += " " + printable(device->second.name);
      text += ": ";
    }
    lines_.strong(text + used());
    if (const auto& before = facts.before)
      lines_.paragraph("", fmt::format("Armed: recording began {} after the start, when the process held {}. "
                                       "What it held then has no sites.",
                                       duration(analysis_.seconds(before->stamp)), held(*before)));
  }

  static std::string held(const trace::HeldBefore& before) {
    std::string text = sized(before.live + before.small);
    for (const auto& [memory, device] : before.devices)
      text +=
          fmt::format(", and {} of {}", sized(device.live), memory_name(static_cast<replay::MemoryId>(memory)));
    return text;
  }

  std::string finished() const {
    return analysis_.end.how == "exit" && analysis_.end.code == 0 ? "finished" : ended(analysis_.end);
  }

  // Returns the highest levels, and where the first of them was.
  std::string used() const {
    std::string text = fmt::format("{} {} at most, {}", (view_.of_tensors() ? "tensors" : "allocated"),
                                   size(view_.leading.bytes), place_of(view_.peak()));
    if (!view_.of_tensors() && view_.peaks().tensor.bytes > 0)
      text += fmt::format("; tensors {} at most", size(view_.peaks().tensor.bytes));
    if (const std::uint64_t resident = highest_resident(analysis_); view_.leading.memory == 0 && resident != 0)
      text += fmt::format("; resident {} at most", sized(resident));
    return text;
  }

  std::string place_of(const replay::Peak& peak) const {
    if (peak.bucket) return "in one of the " + step_range(peak.bucket->first, peak.bucket->last);
    return analysis_.place(peak.path, peak.step);
  }

  void causes() {
    if (findings_.empty())
      lines_.paragraph("",
                       std::string(style_.beside_others
                                       ? "No finding about this process alone: memtrace found none of the "
                                         "other causes that it looks for."
                                       : "No finding: memtrace found none of the causes that it looks for.") +
                           " It does not know whether your lines need what they hold.");
    std::size_t number = 0;
    for (const Finding& finding : findings_) write_finding(finding, ++number, lines_);
  }

  // Writes the user's lines that held the most bytes at the peak, and in training if the peak is outside of it.
  void most() {
    if (view_.leading.bytes <= 0) return;
    if (!view_.peak().bucket) {
      const std::string text = largest_lines(analysis_, peak_set(), view_.leading.bytes);
      if (!text.empty()) lines_.paragraph("", "Largest at the peak, by your line: " + text);
    }
    write_next_peak();
    training();
  }

  // Writes the peak that leads once this one is lower, unless a finding's remedy lowers both.
  void write_next_peak() {
    const auto next = next_peak(analysis_, view_.leading);
    if (!next) return;
    const std::int64_t apart = replay::wrapping_sub(view_.leading.bytes, next->bytes);
    const bool both = std::any_of(findings_.begin(), findings_.end(), [&](const Finding& finding) {
      return finding.memory == view_.leading.memory && finding.saving &&
             finding.saving->measure == view_.leading.measure && finding.saving->bytes >= apart;
    });
    if (both || apart < 0) return;
    std::string text =
        fmt::format("The next peak is {}, {}{}. A change that lowers only the first one saves {} at most",
                    size(next->bytes), place_of(next->peak),
                    next->line.empty() ? "" : ", at " + printable(next->line), size(apart));
    if (const std::string largest = largest_lines(analysis_, next->alive, next->bytes); !largest.empty())
      text += "; largest at the next peak, by your line: " + largest;
    lines_.paragraph("", text);
  }

  // Writes what the phases of training take at most, and the lines that hold it, if the peak is in no phase.
  void training() {
    if (view_.peak().path != replay::PathId::other) return;
    const replay::Measure measure = view_.leading.measure;
    const auto peak = training_peak(analysis_.account, analysis_.buckets, view_.leading.memory, measure);
    if (!peak) return;
    static const replay::Holdings unknown;
    const replay::Holdings& alive =
        peak->bucket ? unknown : analysis_.set({view_.leading.memory, measure, peak->at});
    const std::int64_t reserved = view_.of_tensors() ? 0
                                  : peak->bucket
                                      ? view_.leading.reserved
                                      : static_cast<std::int64_t>(analysis_.reservations.untouched(peak->at));
    const std::int64_t bytes = replay::wrapping_sub(peak->bytes, reserved);
    const bool outside = view_.peak().step == replay::Step::none;
    if (bytes <= 0 ||
        (!outside && !worthwhile(replay::wrapping_sub(view_.leading.bytes, bytes), view_.leading.bytes)))
      return;
    std::string text =
        fmt::format("The peak is outside the phases of training. While they run, {} are allocated at most, {}",
                    size(bytes), place_of(*peak));
    if (const std::string largest = largest_lines(analysis_, alive, bytes); !largest.empty())
      text += "; largest then, by your line: " + largest;
    lines_.paragraph("", text);
  }

  void parameters() {
    const trace::Facts& facts = analysis_.facts();
    if (!facts.parameters) return;
    const trace::Parameters& parameters = *facts.parameters;
    std::string kinds;
    for (const auto& [name, number] : facts.parameters_by_dtype) kinds += printable(name) + ", ";
    kinds +=
        parameters.trainable == parameters.count ? "all trainable" : count(parameters.trainable) + " trainable";
    lines_.paragraph(
        "", fmt::format("Parameters P = {} ({}): {} ({})", count(parameters.count), kinds,
                        size(static_cast<std::int64_t>(parameters.bytes)), gigabytes(parameters.bytes)));
    if (analysis_.lacks_parameters()) lines_.paragraph("", parameters_not_allocated(analysis_.facts()));
  }

  const replay::Holdings& peak_set() const { return alive_at_peak(analysis_, view_.leading); }

  void holders() {
    const replay::Peak& peak = view_.peak();
    if (view_.leading.bytes <= 0) return;
    lines_.gap();
    if (peak.bucket) {
      lines_.paragraph(
          "",
          fmt::format("What was alive at the peak of {} is not known: of the {} only rows are left.",
                      memory_name(view_.leading.memory), step_range(peak.bucket->first, peak.bucket->last)));
      return;
    }
    const Held held{.set = peak_set(),
                    .total = view_.leading.bytes,
                    .unit = view_.unit,
                    .title = view_.leading.memory == 0
                                 ? "Alive at the peak"
                                 : "Alive at the peak of " + memory_name(view_.leading.memory),
                    .sum = "total",
                    .at = fmt::format("at {:.1f} s", analysis_.seconds(peak.stamp)),
                    .others = "memtrace report --all",
                    .of_tensors = view_.of_tensors(),
                    .of_device = view_.leading.memory != 0,
                    .all = style_.all,
                    .now = peak.step};
    if (style_.by == Grouping::line) {
      write_held(analysis_, held, style_.holders, lines_);
    } else {
      write_grouped(analysis_, held, style_.by, style_.holders, lines_);
    }
    if (!view_.of_tensors() && view_.leading.reserved != 0)
      lines_.paragraph(
          "", fmt::format("Reserved and never touched, not counted above: {}", size(view_.leading.reserved)));
  }

  // Writes the peaks of the other memories, and of all allocations where the tables are of tensors.
  void others() {
    std::string text;
    const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
    for (const auto& [memory, other] : analysis_.account.peaks) {
      const bool shown = memory == view_.leading.memory;
      if (other.live.bytes != 0 && !(shown && !view_.of_tensors()))
        add(fmt::format("{}: {} at most, {}", shown ? "all allocations, tensors included" : memory_name(memory),
                        size(replay::wrapping_sub(other.live.bytes, shown ? view_.leading.reserved : 0)),
                        analysis_.place(other.live.path, other.live.step)));
      if (other.reserved && other.reserved->bytes != 0)
        add(fmt::format("{}: reserved {} at most", memory_name(memory), size(other.reserved->bytes)));
    }
    if (!text.empty()) lines_.paragraph("", text);
  }

  // Writes the ledger of the process at its highest, in full with `all`, and the other ledgers only then.
  void ledger() {
    if (view_.leading.memory != 0) return;
    for (const RssLedger& one : ledgers(analysis_)) {
      if (one.scope == "process" && one.at == "peak_rss") {
        const std::uint64_t highest = highest_resident(analysis_);
        style_.all ? write_ledger(one, highest, lines_) : write_ledger_summary(one, highest, lines_);
      } else if (one.scope != "process" && style_.all) {
        write_ledger_line(one, lines_);
      }
    }
  }

  // Writes the limits of the memory that leads: with `all` each one. Else writes the smallest of a cgroup, or
  // the node's if no cgroup has a limit, and the process's own.
  void headroom() {
    bool shared = false; // a limit of several processes was written
    for (const Headroom& one : headrooms(analysis_)) {
      const bool several = one.of == "cgroup" || one.of == "node";
      if (!style_.all && (one.memory != view_.leading.memory || (several && shared))) continue;
      shared = shared || several;
      write_headroom(one, lines_);
    }
  }

  ProcessAnalysis& analysis_;
  const Findings& findings_;
  const TextStyle& style_;
  ReportView view_;
  Lines lines_;
};

} // namespace

std::string finding_text(const Finding& finding, const TextStyle& style) {
  Lines lines(style.screen);
  write_finding(finding, 0, lines);
  return lines.take();
}

std::string process_text(ProcessAnalysis& analysis, const Findings& findings, const Options& options,
                         const TextStyle& style) {
  return ReportText(analysis, findings, options, style).write();
}

} // namespace memtrace::report
