// Purpose: writes the table of phases and steps, with their levels.
#include "analyzer/print/text/phase_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "analyzer/explain/after_training.h"
#include "analyzer/explain/block_owner.h"
#include "analyzer/explain/step_growth.h"
#include "analyzer/print/text/transients_text.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/text_table.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

using replay::Holding;
using replay::ShownRow;
using replay::Step;

class PhaseTable {
 public:
  PhaseTable(const ReportView& view, bool all_steps)
      : view_(view), all_steps_(all_steps), peak_is_typical_(peak_is_typical()) {
    for (const ShownRow& shown : analysis().shown.rows)
      if (shown.row->count != 0 && view_.figures(*shown.row).peak != 0 && telling(shown))
        rows_.push_back(shown);
    typical_from_ = rows_.size();
    if (!has_typical()) return;
    for (const replay::Row& row : analysis().steady.rows)
      if (view_.figures(row).peak != 0 && !is_minor_collection(row)) rows_.push_back({&row, row.step, nullptr});
  }

  void write(Lines& lines) const {
    if (!rows_.empty()) table(lines);
    if (has_typical()) lines.paragraph("  ", typical());
    if (const std::string text = together(); !text.empty()) lines.faint(text);
    folded(lines);
    rare(lines);
    for (const std::string& text : transients(analysis(), view_.leading.memory, view_.leading.measure))
      lines.paragraph("", text);
  }

 private:
  ProcessAnalysis& analysis() const { return view_.analysis; }
  bool has_typical() const { return analysis().shown.steady && !analysis().steady.rows.empty(); }

  // True for collections of Python's garbage that freed less than a hundredth of the peak. Python collects all
  // the time: an import of torch has 47 collections that free a recorded block.
  bool is_minor_collection(const replay::Row& row) const {
    const replay::Paths& paths = analysis().account.paths;
    return paths.text(paths.last(row.path)) == "gc" && -view_.figures(row).net < view_.leading.bytes / 100;
  }

  bool telling(const ShownRow& shown) const {
    if (is_minor_collection(*shown.row)) return all_steps_;
    if (all_steps_ || !has_typical()) return true;
    return shown.as == Step::none || shown.as == Step{0} ||
           (shown.as == view_.peak().step && !peak_is_typical_);
  }

  // True if the rows of the peak's step show the figures of the typical step: then one of both is enough.
  bool peak_is_typical() const {
    if (!has_typical() || all_steps_ || peak_is_apart()) return false;
    std::size_t of_peak = 0, equal = 0;
    for (const ShownRow& shown : analysis().shown.rows) {
      if (shown.as != view_.peak().step || shown.row->count == 0 || view_.figures(*shown.row).peak == 0 ||
          is_minor_collection(*shown.row))
        continue;
      ++of_peak;
      equal += std::any_of(
          analysis().steady.rows.begin(), analysis().steady.rows.end(), [&](const replay::Row& row) {
            return row.path == shown.row->path && row.count == shown.row->count && looks_equal(row, *shown.row);
          });
    }
    return of_peak != 0 && equal == of_peak;
  }

  bool looks_equal(const replay::Row& a, const replay::Row& b) const {
    const replay::Figures x = view_.figures(a), y = view_.figures(b);
    const auto equal = [this](std::int64_t one, std::int64_t other) {
      return in_unit(one, view_.unit) == in_unit(other, view_.unit);
    };
    return equal(x.entry, y.entry) && equal(x.peak, y.peak) && equal(x.exit, y.exit) && equal(x.net, y.net) &&
           equal(x.transient, y.transient);
  }

  // A row of the rollup has no instants, so the reservations of the peak stand for those of its own time.
  replay::Figures figures(const ShownRow& shown) const {
    if (shown.bucket == nullptr || view_.of_tensors()) return view_.figures(*shown.row);
    replay::Figures out = shown.row->of(view_.leading.memory).live;
    for (std::int64_t* level : {&out.entry, &out.peak, &out.exit})
      if (*level >= view_.leading.reserved) *level -= view_.leading.reserved;
    return out;
  }

  void table(Lines& lines) const {
    Table table(2, {Column::text("", 8, 28), Column::text("step", 4), Column::extra("entry", 8),
                    Column::number("peak", 8), Column::number("exit", 8), Column::extra("kept", 8),
                    Column::number("temporary", 9), Column::detail("mostly")});
    table.head(fmt::format("{} by phase, {}", view_.of_tensors() ? "Tensors" : "Allocated", view_.unit.name));
    const std::size_t apart = peak_is_apart() ? place_of_peak() : rows_.size() + 1;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (i == apart) table.row(peak_row());
      const bool typical = i >= typical_from_;
      const replay::Figures f = figures(rows_[i]);
      table.row({shortened(analysis().phase_name(rows_[i].row->path), 28), step(rows_[i], typical),
                 in_unit(f.entry, view_.unit), in_unit(f.peak, view_.unit), in_unit(f.exit, view_.unit),
                 signed_in_unit(f.net, view_.unit), in_unit(f.transient, view_.unit),
                 rows_[i].bucket != nullptr ? "" : mostly(*rows_[i].row, typical)});
    }
    if (apart == rows_.size()) table.row(peak_row());
    table.write(lines);
  }

  // The time outside of phases has a peak, but no entry and no exit: it is not one stretch.
  bool peak_is_apart() const { return view_.peak().path == replay::PathId::other && !view_.peak().bucket; }

  // Returns the number of the row that follows the row of the peak: before all steps, or after those of its
  // step.
  std::size_t place_of_peak() const {
    if (view_.peak().step == Step::none) return 0;
    std::size_t out = 0;
    for (std::size_t i = 0; i < typical_from_; ++i)
      if (rows_[i].as <= view_.peak().step) out = i + 1;
    return out;
  }

  std::vector<std::string> peak_row() const {
    const replay::Peak& peak = view_.peak();
    const bool outside = peak.step == Step::none;
    return {outside ? "outside training" : "outside phases",
            outside ? "" : step_words(peak.step),
            "",
            in_unit(view_.leading.bytes, view_.unit),
            "",
            "",
            "",
            largest_use(peak.at, replay::NameId::other, peak.step)};
  }

  // Returns what " x4" means, or "" if no row has it.
  std::string together() const {
    const bool any = std::any_of(rows_.begin(), rows_.end(), [](const ShownRow& row) {
      return row.bucket == nullptr && row.row->count > 1;
    });
    return any ? "  xN: N such phases in the step, in one row; kept is their sum, without what came between "
                 "them"
               : "";
  }

  std::string typical() const {
    const std::vector<Step>& steps = analysis().steady.steps;
    const std::int64_t growth = growth_per_step(analysis(), view_.leading.memory, view_.leading.measure);
    return fmt::format("typical: the median of {} ({}){}", step_range(steps.front(), steps.back()),
                       typical_steps_agree(analysis()),
                       growth == 0 ? "" : "; memory grows: " + growth_in_words(growth)) +
           (peak_is_typical_ ? fmt::format("; step {} with the peak has the same figures",
                                           static_cast<std::int64_t>(view_.peak().step))
                             : "");
  }

  // Writes which steps exist only as rows, and how many steps a row covers.
  void folded(Lines& lines) const {
    const replay::Buckets& buckets = analysis().buckets;
    const replay::Coverage covered = replay::coverage(buckets, analysis().account);
    if (covered.buckets != 0) {
      std::string text =
          fmt::format("{} are kept as {} {} of {}", step_range(covered.steps.first, covered.steps.last),
                      count(covered.buckets), covered.buckets == 1 ? "row" : "rows",
                      buckets.width == 1 ? "1 step" : count(buckets.width) + " steps");
      if (std::any_of(rows_.begin(), rows_.end(), [](const ShownRow& row) { return row.bucket != nullptr; }))
        text += "; ~ marks the largest of such a row";
      lines.paragraph("", text);
    }
    if (analysis().losses.rows_missing)
      lines.paragraph("", "the rows of steps whose events were folded away (the .coarse file) are missing");
    if (analysis().shown.cut)
      lines.paragraph("",
                      fmt::format("--steps: only the first {} of them are shown", count(replay::kMostSteps)));
  }

  // Writes the few steps that took much more than the others. The memory of the table alone.
  void rare(Lines& lines) const {
    std::string text;
    for (const RareStep& one : analysis().rare_steps) {
      if (one.memory != view_.leading.memory) continue;
      const std::string where = one.steps.first == one.steps.last
                                    ? analysis().phase_and_step(one.path, one.steps.first)
                                    : fmt::format("{} of one of {}", analysis().phase_name(one.path),
                                                  step_range(one.steps.first, one.steps.last));
      text += fmt::format("{}{} {}{}", text.empty() ? "" : "; ", where,
                          one.steps.first == one.steps.last ? "" : "at least ", size(one.rise));
      if (one.stack != format::StackId{})
        text += ", most by " + printable(analysis().symbolizer->site(one.stack).title());
    }
    if (!text.empty()) lines.paragraph("", "Rare steps rise much higher than typical ones: " + text);
  }

  // Returns "13", or "after 13" for what came after training.
  std::string step_words(Step step) const {
    const bool after = step == analysis().after_training;
    const Step number = after ? last_of_training(step) : step;
    return (after ? "after " : "") + std::to_string(static_cast<std::int64_t>(number));
  }

  std::string step(const ShownRow& shown, bool typical) const {
    std::string text;
    if (typical) {
      text = "typical";
    } else if (shown.as != Step::none) {
      text = step_words(shown.as);
    }
    if (shown.bucket != nullptr) return text + "~";
    if (shown.row->skipped) text += " skipped";
    return shown.row->count > 1 ? text + fmt::format(" x{}", shown.row->count) : text;
  }

  // Returns the largest use among the blocks of the phase itself. Earlier blocks are in `entry`.
  std::string mostly(const replay::Row& row, bool typical) const {
    return largest_use(view_.figures(row).peak_at, analysis().account.paths.last(row.path),
                       typical ? analysis().steady.representative : row.step);
  }

  struct Use {
    std::uint64_t asked = 0;
    std::int64_t bytes = 0;
  };

  // Uses are compared by the bytes that the program asked for. The bytes given depend on how an allocator had
  // to divide its memory: of two equal tensors, now one is larger and now the other. Of equal uses, the first
  // by name is the largest.
  std::string largest_use(trace::Ordinal at, replay::NameId phase, Step step) const {
    std::map<std::string, Use> uses;
    for (const Holding& holding : analysis().set({view_.leading.memory, view_.leading.measure, at})) {
      if (holding.born_phase != phase || holding.born_step != step) continue;
      Use& use = uses[use_of(analysis(), holding)];
      const std::uint64_t bytes = holding.bytes - holding.untouched;
      use.bytes = replay::wrapping_add(use.bytes, bytes);
      use.asked += holding.asked != 0 ? std::min(holding.asked, bytes) : bytes;
    }
    const auto best = std::max_element(
        uses.begin(), uses.end(), [](const auto& a, const auto& b) { return a.second.asked < b.second.asked; });
    if (best == uses.end()) return "";
    return fmt::format("{} {}", best->first, in_unit(best->second.bytes, view_.unit));
  }

  const ReportView& view_;
  bool all_steps_;
  bool peak_is_typical_;
  std::vector<ShownRow> rows_;
  std::size_t typical_from_ = 0;
};

} // namespace

void write_phases(const ReportView& view, bool all_steps, Lines& lines) {
  PhaseTable(view, all_steps).write(lines);
}

} // namespace memtrace::report
