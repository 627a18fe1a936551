// Purpose: compares two instants of one run or of two, row by row. The rows add up to the difference of the
// levels.
#include "analyzer/explain/diff.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/explain/block_owner.h"
#include "analyzer/explain/nothing_to_show.h"
#include "analyzer/explain/step_growth.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/labels.h"

namespace memtrace::report {
namespace {

using replay::Instant;
using replay::Measure;
using replay::MemoryId;
using replay::Step;

std::string number(Step step) {
  return std::to_string(static_cast<std::int64_t>(step));
}

std::string where(const ProcessAnalysis& analysis, const replay::Peak& peak) {
  return fmt::format("{}, {}", script_and_pid(analysis.facts()), analysis.place(peak.path, peak.step));
}

// Returns the steps that have their own events, for messages.
std::string steps_in_detail(const ProcessAnalysis& analysis) {
  if (analysis.account.last_step == Step::none) return "it has no steps";
  std::string out;
  for (const replay::StepSpan& span : analysis.account.detail) {
    if (span.first == Step::none && span.last == Step::none) continue;
    const Step first = span.first == Step::none ? Step{0} : span.first;
    out += fmt::format("{}{}..{}", out.empty() ? "" : ", ", number(first), number(span.last));
  }
  return out.empty() ? "it has no steps" : "it has steps " + out + " in detail";
}

std::string place_name(std::optional<Step> step, const std::string& phase) {
  std::string of_step = step ? "step " + number(*step) : "";
  if (phase.empty()) return of_step;
  return step ? phase_words(phase) + " " + number(*step) : phase_words(phase);
}

// True if people may call the phase so: a report calls `step` an update.
bool is_called(const std::string& phase, const std::string& name) {
  return phase == name || phase_words(phase) == name;
}

// Returns why no row fits: the trace lacks the phase, or it has no such step.
std::string missing(const ProcessAnalysis& analysis, std::optional<Step> step, const std::string& phase) {
  std::vector<std::string> phases;
  for (const replay::Row& row : analysis.account.rows) {
    const std::string name = phase_words(analysis.account.paths.text(analysis.account.paths.last(row.path)));
    if (row.count != 0 && std::find(phases.begin(), phases.end(), name) == phases.end()) phases.push_back(name);
  }
  const bool known = std::any_of(phases.begin(), phases.end(),
                                 [&](const std::string& name) { return is_called(name, phase_words(phase)); });
  if (phase.empty() || known)
    return place_name(step, phase) + ": not in this trace; " + steps_in_detail(analysis);
  std::string names;
  for (const std::string& name : phases) names += (names.empty() ? "" : ", ") + name;
  return fmt::format("{}: no phase of this trace has this name; {}", phase,
                     names.empty() ? "it has no phases" : "it has " + names);
}

DiffSide highest(ProcessAnalysis& analysis, const Compared& of, std::optional<Step> step,
                 const std::string& phase, const std::string& name) {
  DiffSide side{&analysis, name, "", {}, of.memory};
  bool found = false;
  for (const replay::Row& row : analysis.account.rows) {
    if ((step && row.step != *step) || row.count == 0) continue; // `other` has no levels
    if (!phase.empty() && !is_called(analysis.account.paths.text(analysis.account.paths.last(row.path)), phase))
      continue;
    const replay::MemoryRow& memory = row.of(of.memory);
    const replay::Figures& level = of.measure == Measure::tensor ? memory.tensor : memory.live;
    if (found && level.peak <= side.peak.bytes) continue;
    found = true;
    side.peak.bytes = level.peak;
    side.peak.at = level.peak_at;
    side.peak.path = row.path;
    side.peak.step = row.step;
  }
  if (!found) throw NothingToShow(missing(analysis, step, phase));
  side.where = where(analysis, side.peak);
  return side;
}

// Identifies the blocks of a row. If both sides are of one trace, the stack id is the site.
using DiffKey = std::tuple<std::string, std::string, replay::Role, format::Kind>; // site, phase, role, kind

class Matcher {
 public:
  explicit Matcher(bool one_trace) : one_trace_(one_trace) {}

  void add(ProcessAnalysis& analysis, const replay::Holdings& set, std::int64_t DiffRow::*side) {
    for (const replay::Holding& holding : set) {
      const std::string phase = analysis.account.paths.text(holding.born_phase);
      DiffRow& row = rows_[{site(analysis, holding.stack), phase, holding.role, holding.kind}];
      row.*side = replay::wrapping_add(row.*side, holding.bytes - holding.untouched);
      row.variance += static_cast<double>(holding.error) * static_cast<double>(holding.error);
      row.phase = phase;
      row.use = use_of(analysis, holding);
      row.role = holding.role;
      row.kind = holding.kind;
      row.analysis = &analysis;
      row.stack = holding.stack;
    }
  }

  std::vector<DiffRow> take() {
    if (!one_trace_) join_but_for_lines();
    std::vector<DiffRow> out;
    out.reserve(rows_.size());
    for (auto& [key, row] : rows_) out.push_back(std::move(row));
    std::stable_sort(out.begin(), out.end(), [](const DiffRow& x, const DiffRow& y) {
      return std::pair(std::abs(x.change()), x.b) > std::pair(std::abs(y.change()), y.b);
    });
    return out;
  }

 private:
  std::string site(ProcessAnalysis& analysis, format::StackId stack) const {
    if (stack == format::StackId{}) return {};
    if (one_trace_) return std::to_string(static_cast<std::uint32_t>(stack));
    return analysis.symbolizer->site(stack).id;
  }

  // The main script has no name here: people edit a copy of it and compare.
  static std::string without_lines(const DiffRow& row) {
    std::string out;
    if (row.stack == format::StackId{}) return out;
    const trace::Facts& facts = row.analysis->facts();
    const std::string main_script = "/" + script(facts);
    for (const symbols::SiteFrame& frame : row.analysis->symbolizer->site(row.stack).frames) {
      if (frame.inlined) continue;
      out += frame.function;
      if (frame.python && !frame.file.ends_with(main_script))
        out += symbols::short_path(frame.file, facts.working_directory);
      out += '\n';
    }
    return out;
  }

  static std::vector<std::uint32_t> lines_of(const DiffRow& row) {
    std::vector<std::uint32_t> out;
    if (row.stack == format::StackId{}) return out;
    for (const symbols::SiteFrame& frame : row.analysis->symbolizer->site(row.stack).frames)
      if (!frame.inlined) out.insert(out.begin(), frame.line); // the outermost first
    return out;
  }

  // Joins rows of which each side has one, if they differ only in lines: the file was edited between the runs.
  // An edit keeps the order of the lines, so the first is joined with the first.
  void join_but_for_lines() {
    struct Sides {
      std::vector<DiffKey> a, b;
    };
    const auto by_lines = [this](const DiffKey& x, const DiffKey& y) {
      return lines_of(rows_.at(x)) < lines_of(rows_.at(y));
    };
    std::map<DiffKey, Sides> alike;
    for (const auto& [key, row] : rows_) {
      if ((row.a != 0) == (row.b != 0)) continue;
      const auto& [id, phase, role, kind] = key;
      Sides& sides = alike[{without_lines(row), phase, role, kind}];
      (row.a != 0 ? sides.a : sides.b).push_back(key);
    }
    for (auto& [key, sides] : alike) {
      std::stable_sort(sides.a.begin(), sides.a.end(), by_lines);
      std::stable_sort(sides.b.begin(), sides.b.end(), by_lines);
      for (std::size_t i = 0; i < std::min(sides.a.size(), sides.b.size()); ++i) {
        DiffRow& kept = rows_[sides.b[i]];
        const DiffRow& other = rows_[sides.a[i]];
        kept.a = other.a;
        kept.variance += other.variance;
        rows_.erase(sides.a[i]);
      }
    }
  }

  bool one_trace_;
  std::map<DiffKey, DiffRow> rows_;
};

std::int64_t sum(const replay::Holdings& set) {
  std::int64_t out = 0;
  for (const replay::Holding& holding : set) out = replay::wrapping_add(out, holding.bytes - holding.untouched);
  return out;
}

// Leaves reservations that were never touched out of the level, as a report does.
void leave_reservations_out(DiffSide& side, const replay::Holdings& set) {
  side.reserved = static_cast<std::int64_t>(untouched(set));
  side.peak.bytes = replay::wrapping_sub(side.peak.bytes, side.reserved);
}

// Adds a row for small blocks and memory inherited at fork: they are counted exactly, but not recorded one by
// one.
void complete(std::vector<DiffRow>& rows, std::int64_t a, std::int64_t b) {
  if (a == 0 && b == 0) return;
  DiffRow rest;
  rest.a = a;
  rest.b = b;
  rest.kind = format::Kind::heap;
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const DiffRow& row) {
    return std::abs(row.change()) < std::abs(rest.change());
  });
  rows.insert(at, rest);
}

} // namespace

Compared compared_in(const ProcessAnalysis& analysis, MemoryId memory) {
  const auto peaks = analysis.account.peaks.find(memory);
  const bool tensors = memory != 0 && peaks != analysis.account.peaks.end() && peaks->second.tensor.bytes > 0;
  return {memory, tensors ? Measure::tensor : Measure::live};
}

Compared compared_in(const ProcessAnalysis& a, const ProcessAnalysis& b, MemoryId memory) {
  const Compared of = compared_in(a, memory);
  return of.measure == Measure::tensor ? compared_in(b, memory) : of;
}

DiffSide whole_run(ProcessAnalysis& analysis, const Compared& of, const std::string& name) {
  const auto found = analysis.account.peaks.find(of.memory);
  if (found == analysis.account.peaks.end())
    throw NothingToShow(
        fmt::format("{}: it has no {}", pid_or_script(analysis.facts()), memory_name(of.memory)));
  const replay::MemoryPeaks& peaks = found->second;
  const replay::Peak& peak = of.measure == Measure::tensor ? peaks.tensor : peaks.live;
  if (peak.bucket) {
    throw NothingToShow(
        fmt::format("pid {}: its peak lies in steps whose events were folded together, so who held it is "
                    "not known; {}",
                    analysis.facts().pid, steps_in_detail(analysis)));
  }
  return {&analysis, name, where(analysis, peak), peak, of.memory};
}

DiffSide one_place(ProcessAnalysis& analysis, const Compared& of, std::optional<Step> step,
                   const std::string& phase) {
  return highest(analysis, of, step, phase, place_name(step, phase));
}

DiffSide first_step(ProcessAnalysis& analysis, const Compared& of, const std::string& phase) {
  const Step first = analysis.account.first_update != Step::none ? analysis.account.first_update : Step{0};
  return highest(analysis, of, first, phase, "first step");
}

DiffSide steady_step(ProcessAnalysis& analysis, const Compared& of, const std::string& phase) {
  const std::vector<Step>& steps = analysis.steady.steps;
  if (steps.size() < 2)
    throw NothingToShow("no two steps after the first are alike, so none is typical; " +
                        steps_in_detail(analysis));
  DiffSide side = highest(analysis, of, analysis.steady.representative, phase, "typical");
  const std::int64_t growth = growth_per_step(analysis, of.memory, of.measure);
  side.where += fmt::format(": the typical step nearest to the median ({}){}", typical_steps_agree(analysis),
                            growth == 0 ? "" : "; memory grows: " + growth_in_words(growth));
  return side;
}

Diff difference(const Compared& of, DiffSide a, DiffSide b) {
  const Instant at_a{a.memory, of.measure, a.peak.at};
  const Instant at_b{b.memory, of.measure, b.peak.at};
  const bool one_trace = a.analysis == b.analysis;
  auto sets = alive_at(*a.analysis, one_trace ? std::vector{at_a, at_b} : std::vector{at_a});
  const replay::Holdings of_a = sets[at_a];
  if (!one_trace) sets = alive_at(*b.analysis, {at_b});
  const replay::Holdings of_b = sets[at_b];
  if (of.measure == Measure::live) {
    leave_reservations_out(a, of_a);
    leave_reservations_out(b, of_b);
  }
  Matcher matcher(one_trace);
  matcher.add(*a.analysis, of_a, &DiffRow::a);
  matcher.add(*b.analysis, of_b, &DiffRow::b);
  Diff diff{of, std::move(a), std::move(b), matcher.take()};
  complete(diff.rows, diff.a.peak.bytes - sum(of_a), diff.b.peak.bytes - sum(of_b));
  return diff;
}

ShortDiff shorten(const Diff& diff, std::size_t top, std::int64_t least) {
  ShortDiff out;
  while (out.shown < diff.rows.size() && out.shown < top && std::abs(diff.rows[out.shown].change()) >= least)
    ++out.shown;
  for (std::size_t i = out.shown; i < diff.rows.size(); ++i) {
    out.rest.a = replay::wrapping_add(out.rest.a, diff.rows[i].a);
    out.rest.b = replay::wrapping_add(out.rest.b, diff.rows[i].b);
    out.rest.variance += diff.rows[i].variance;
  }
  out.left = diff.rows.size() - out.shown;
  return out;
}

} // namespace memtrace::report
