// Purpose: writes the text report: causes first, at most 100 columns.
#include "analyzer/print/text/report_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "analyzer/explain/uncertainty.h"
#include "analyzer/findings/all_findings.h"
#include "analyzer/print/text/device_text.h"
#include "analyzer/print/text/ledger_text.h"
#include "analyzer/print/text/losses_text.h"
#include "analyzer/print/text/transients_text.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/text_table.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

using replay::Holding;
using replay::Measure;
using replay::MemoryId;
using replay::Step;

void cause(const Finding& finding, Lines& lines) {
  lines.strong(printable(finding.title));
  std::string text;
  for (const std::string& sentence : finding.sentences) text += (text.empty() ? "" : " ") + sentence;
  lines.paragraph("  ", printable(text));
  lines.paragraph("  ", "Do: " + printable(finding.remedy));
  if (!finding.no_remedy.empty()) lines.paragraph("  ", "Not: " + printable(finding.no_remedy));
}

class ReportText {
 public:
  ReportText(ProcessAnalysis& analysis, const Findings& findings, const Options& options,
             const TextStyle& style)
      : analysis_(analysis),
        findings_(findings),
        style_(style),
        memory_(main_memory(analysis, findings, options.memory)),
        measure_(peaks().tensor.bytes > 0 ? Measure::tensor : Measure::live),
        unit_(unit_for(peak().bytes)),
        lines_(style.color) {}

  std::string write() {
    if (const std::string off = uncertainty_text(analysis_); !off.empty()) lines_.paragraph("", off);
    causes();
    process();
    phases();
    holders();
    others();
    write_devices(analysis_, lines_);
    ledger();
    write_losses(analysis_, lines_);
    return lines_.take();
  }

 private:
  const replay::MemoryPeaks& peaks() const { return analysis_.account.peaks.at(memory_); }
  const replay::Peak& peak() const { return measure_ == Measure::tensor ? peaks().tensor : peaks().live; }
  const replay::Figures& figures(const replay::Row& row) const {
    const replay::MemoryRow& memory = row.of(memory_);
    return measure_ == Measure::tensor ? memory.tensor : memory.live;
  }
  const char* what() const { return measure_ == Measure::tensor ? "tensors" : "live bytes"; }

  void causes() {
    if (findings_.empty()) {
      lines_.strong(fmt::format("Peak of {}: {} of {}, in {}{}", memory_name(memory_), size(peak().bytes),
                                what(), analysis_.phase_name(peak().path), peak_step()));
      return;
    }
    for (const Finding& finding : findings_) cause(finding, lines_);
  }

  std::string peak_step() const {
    if (peak().step == Step::none) return "";
    if (peak().bucket) return ", in one of the " + step_range(peak().bucket->first, peak().bucket->last);
    return fmt::format(", step {}", static_cast<std::int64_t>(peak().step));
  }

  void process() {
    const trace::Facts& facts = analysis_.facts();
    std::string memory = memory_name(memory_);
    if (const auto device = facts.devices.find(memory_); device != facts.devices.end()) {
      memory += " " + printable(device->second.name);
    }
    lines_.plain(fmt::format("{}  pid {}  {}  {}  {}", script(facts), facts.pid, memory, ended(analysis_.end),
                             duration(analysis_.seconds(facts.last_stamp))));
    if (!facts.parameters) return;
    const trace::Parameters& parameters = *facts.parameters;
    std::string trainable = "all trainable";
    if (parameters.trainable != parameters.count) trainable = count(parameters.trainable) + " trainable";
    std::string dtypes;
    for (const auto& [name, number] : facts.parameters_by_dtype) dtypes += ", " + printable(name);
    lines_.plain(fmt::format("P = {} parameters, {}{}: {} ({})", count(parameters.count), trainable, dtypes,
                             size(static_cast<std::int64_t>(parameters.bytes)), gigabytes(parameters.bytes)));
  }

  // True if the text shows the row. By default the steady rows stand for step 1 and the last step.
  bool telling(const replay::ShownRow& shown) const {
    if (style_.all_steps || !analysis_.shown.steady || analysis_.steady.rows.empty()) return true;
    return shown.as == Step::none || shown.as == Step{0} || shown.as == peak().step;
  }

  void phases() {
    std::vector<replay::ShownRow> rows;
    for (const replay::ShownRow& shown : analysis_.shown.rows) {
      if (shown.row->count != 0 && figures(*shown.row).peak != 0 && telling(shown)) rows.push_back(shown);
    }
    const std::size_t steady_from = rows.size();
    if (analysis_.shown.steady) {
      for (const replay::Row& row : analysis_.steady.rows) {
        if (figures(row).peak != 0) rows.push_back({&row, row.step, nullptr});
      }
    }
    if (!rows.empty()) table(rows, steady_from);
    if (analysis_.shown.steady && !analysis_.steady.rows.empty()) {
      lines_.faint(fmt::format("steady: the median of the {} steps {} to {} that are alike",
                               analysis_.steady.steps.size(),
                               static_cast<std::int64_t>(analysis_.steady.steps.front()),
                               static_cast<std::int64_t>(analysis_.steady.steps.back())));
    }
    folded(rows);
    for (const std::string& text : transients(analysis_, memory_, measure_)) lines_.paragraph("", text);
  }

  void table(const std::vector<replay::ShownRow>& rows, std::size_t steady_from) {
    Table table(0, {Column::text("phase"), Column::number("entry", 9), Column::number("peak", 8),
                    Column::number("exit", 8), Column::number("kept", 9), Column::number("transient", 9),
                    Column::rest(fmt::format("mostly ({}, {})", unit_.name,
                                             measure_ == Measure::tensor ? "tensors" : "live"))});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const replay::Figures& f = figures(*rows[i].row);
      table.row({label(rows[i], i >= steady_from), in_unit(f.entry, unit_), in_unit(f.peak, unit_),
                 in_unit(f.exit, unit_), signed_in_unit(f.net, unit_), in_unit(f.transient, unit_),
                 rows[i].bucket != nullptr ? "" : mostly(*rows[i].row, i >= steady_from)});
    }
    table.write(lines_);
  }

  // Writes which steps exist only as rows, and how many steps a row covers.
  void folded(const std::vector<replay::ShownRow>& rows) {
    const replay::Coverage covered = replay::coverage(analysis_.buckets, analysis_.account);
    if (covered.buckets != 0) {
      std::string text =
          fmt::format("{} are kept as {} {} of {}", step_range(covered.steps.first, covered.steps.last),
                      count(covered.buckets), covered.buckets == 1 ? "row" : "rows",
                      analysis_.buckets.width == 1 ? "1 step" : count(analysis_.buckets.width) + " steps");
      if (std::any_of(rows.begin(), rows.end(),
                      [](const replay::ShownRow& row) { return row.bucket != nullptr; }))
        text += "; ~ marks the largest of such a row";
      lines_.paragraph("", text);
    }
    if (analysis_.losses.rows_missing)
      lines_.paragraph("", "the rows of steps whose events were folded away (the .coarse file) are missing");
    if (analysis_.shown.cut)
      lines_.paragraph("",
                       fmt::format("--steps: only the first {} of them are shown", count(replay::kMostSteps)));
  }

  std::string label(const replay::ShownRow& shown, bool steady) const {
    const replay::Row& row = *shown.row;
    std::string text = shortened(analysis_.phase_name(row.path), 20);
    if (steady) {
      text += " steady";
    } else if (shown.as != Step::none) {
      text += " " + std::to_string(static_cast<std::int64_t>(shown.as));
    }
    if (shown.bucket != nullptr) return text + "~";
    if (row.skipped) text += " skipped";
    return row.count > 1 ? text + fmt::format(" x{}", row.count) : text;
  }

  // Returns the largest role among the blocks of the phase itself. Earlier blocks are in `entry`.
  std::string mostly(const replay::Row& row, bool steady) const {
    const replay::Figures& f = figures(row);
    const Step step = steady ? analysis_.steady.representative : row.step;
    std::map<replay::Role, std::int64_t> roles;
    for (const Holding& holding : analysis_.set({memory_, measure_, f.peak_at})) {
      if (holding.born_phase != analysis_.account.paths.last(row.path) || holding.born_step != step) continue;
      std::int64_t& bytes = roles[holding.role];
      bytes = replay::wrapping_add(bytes, holding.bytes);
    }
    const auto best = std::max_element(roles.begin(), roles.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (best == roles.end()) return "";
    return fmt::format("{} {}", replay::role_name(best->first), in_unit(best->second, unit_));
  }

  // A line of the holders' table. Blocks that look alike to a reader share a line.
  struct OwnerLine {
    std::int64_t bytes = 0;
    std::string role, since, site;
    double variance = 0; // the sum of squared 95 % errors of the sampled bytes
    bool sampled = false;
  };
  struct OwnerGroup {
    std::int64_t bytes = 0;
    double variance = 0;
  };

  std::vector<OwnerLine> grouped(const replay::Holdings& holdings) {
    constexpr std::size_t kNamed = 400; // names cost time; sites after the first 400 are small
    std::map<std::tuple<std::string, std::string, std::string, bool>, OwnerGroup> groups;
    std::size_t number = 0;
    for (const Holding& holding : holdings) {
      std::string role = replay::role_name(holding.role);
      if (holding.role == replay::Role::unknown && !holding.tensor)
        role = format::kKindNames[static_cast<std::size_t>(holding.kind)];
      const std::string since =
          when(printable(analysis_.account.paths.text(holding.born_phase)), holding.born_step);
      const bool named = ++number <= kNamed && holding.stack != format::StackId{};
      OwnerGroup& group =
          groups[{role, since, named ? printable(analysis_.symbolizer->site(holding.stack).title()) : "-",
                  holding.sampled}];
      group.bytes = replay::wrapping_add(group.bytes, holding.bytes);
      group.variance += static_cast<double>(holding.error) * static_cast<double>(holding.error);
    }
    std::vector<OwnerLine> out;
    out.reserve(groups.size());
    for (const auto& [key, group] : groups) {
      const auto& [role, since, site, sampled] = key;
      out.push_back({group.bytes, role, since, site, group.variance, sampled});
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const OwnerLine& a, const OwnerLine& b) { return a.bytes > b.bytes; });
    return out;
  }

  std::string in_parameters(std::int64_t bytes) const {
    const auto& parameters = analysis_.facts().parameters;
    if (!parameters || parameters->bytes == 0) return "";
    const double p = static_cast<double>(bytes) / static_cast<double>(parameters->bytes);
    return p < 0.0005 ? "" : fmt::format("{:.3f}", p);
  }

  // Half of the interval that holds the truth in 95 of 100 cases.
  std::string certainty(const OwnerLine& row) const {
    if (!row.sampled) return "";
    return fmt::format("sampled, +-{}: ", in_unit(static_cast<std::int64_t>(std::sqrt(row.variance)), unit_));
  }

  // Returns the number of lines to show. Lines below the precision of the figures are summed up, unless all
  // were requested.
  std::size_t worth_a_line(const std::vector<OwnerLine>& all) const {
    const bool everything = style_.holders > all.size();
    std::size_t lines = 0;
    while (lines < all.size() && lines < style_.holders &&
           (everything || all[lines].bytes >= peak().bytes / 1000))
      ++lines;
    return lines;
  }

  void holders() {
    if (peak().bytes <= 0) return;
    if (peak().bucket) {
      lines_.paragraph(
          "", fmt::format("Who held the peak of {} is not known: of the {} only rows are left.",
                          memory_name(memory_), step_range(peak().bucket->first, peak().bucket->last)));
      return;
    }
    std::vector<OwnerLine> all = grouped(analysis_.set({memory_, measure_, peak().at}));
    const std::size_t shown = worth_a_line(all);
    std::int64_t left = peak().bytes;
    std::int64_t more = 0;
    for (const OwnerLine& row : all) left = replay::wrapping_sub(left, row.bytes);
    double more_variance = 0;
    bool sampled = false;
    for (std::size_t i = shown; i < all.size(); ++i) {
      more = replay::wrapping_add(more, all[i].bytes);
      more_variance += all[i].variance;
      sampled = sampled || all[i].sampled;
    }
    const bool samples = std::any_of(all.begin(), all.end(), [](const OwnerLine& row) { return row.sampled; });
    const std::size_t dropped = all.size() - shown;
    all.resize(shown);
    if (dropped != 0)
      all.push_back(
          {more, fmt::format("{} more", dropped), "", "memtrace report --all", more_variance, sampled});
    if (left != 0) all.push_back({left, rest_name(), "", rest_reason(left, samples)});
    all.push_back({peak().bytes, "=", "", fmt::format("at {:.1f} s", analysis_.seconds(peak().stamp))});
    lines_.plain("");
    lines_.plain(fmt::format("{} at the peak", memory_name(memory_)));
    Table table(2, {Column::text("", 4, 16), Column::number(unit_.name, 9),
                    Column::number(analysis_.facts().parameters ? "P" : "", 6), Column::text("since", 0, 16),
                    Column::rest("site")});
    for (const OwnerLine& row : all)
      table.row({row.role, in_unit(row.bytes, unit_), in_parameters(row.bytes), row.since,
                 certainty(row) + row.site});
    table.write(lines_);
  }

  static const char* rest_reason(std::int64_t left, bool samples) {
    if (!samples) return "counted, not recorded one by one";
    return left < 0 ? "too much in the samples: the sum is counted exactly" : "counted, and not in the samples";
  }

  const char* rest_name() const { return analysis_.facts().fork ? "inherited, small" : "small blocks"; }

  void others() {
    std::string text;
    const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
    for (const auto& [memory, other] : analysis_.account.peaks) {
      if (memory == memory_ && measure_ == Measure::live) continue;
      if (other.live.bytes == 0) continue;
      add(fmt::format("{}: live peak {} in {}", memory_name(memory), size(other.live.bytes),
                      when(analysis_.phase_name(other.live.path), other.live.step)));
      if (memory == 0 && analysis_.account.rss)
        add(fmt::format("resident at most {}", size(analysis_.account.rss->bytes)));
      if (other.reserved) add(fmt::format("reserved at most {}", size(other.reserved->bytes)));
    }
    if (!text.empty()) lines_.paragraph("", text);
  }

  // Writes the ledgers of the host at its peak. The JSON has the others.
  void ledger() {
    if (memory_ != 0) return;
    for (const RssLedger& one : ledgers(analysis_))
      if (one.scope != "process") {
        write_ledger_line(one, lines_);
      } else if (one.at == "peak_rss") {
        write_ledger(one, lines_);
      }
  }

  ProcessAnalysis& analysis_;
  const Findings& findings_;
  const TextStyle& style_;
  MemoryId memory_;
  Measure measure_;
  Unit unit_;
  Lines lines_;
};

} // namespace

std::string finding_text(const Finding& finding, const TextStyle& style) {
  Lines lines(style.color);
  cause(finding, lines);
  return lines.take();
}

std::string process_text(ProcessAnalysis& analysis, const Findings& findings, const Options& options,
                         const TextStyle& style) {
  return ReportText(analysis, findings, options, style).write();
}

std::string process_line(ProcessAnalysis& analysis) {
  const replay::MemoryPeaks& host = analysis.account.peaks.at(0);
  std::string text = fmt::format("pid {} {} {}: peak {} live", analysis.facts().pid, analysis.kind,
                                 script(analysis.facts()), size(host.live.bytes));
  if (host.tensor.bytes != 0) text += fmt::format(", {} tensors", size(host.tensor.bytes));
  text += fmt::format(", {} {}", ended(analysis.end), duration(analysis.seconds(analysis.facts().last_stamp)));
  if (const auto bound = analysis.facts().note("bound"))
    text +=
        bound->starts_with("counts") ? ", counted only (MEMTRACE_MAX_NODE)" : ", less room (MEMTRACE_MAX_NODE)";
  if (analysis.facts().note("malloc")) text += ", blocks of malloc not recorded";
  if (analysis.losses.total() != 0) text += fmt::format(", events lost: {}", count(analysis.losses.total()));
  return shortened(text, kColumns) + "\n";
}

} // namespace memtrace::report
