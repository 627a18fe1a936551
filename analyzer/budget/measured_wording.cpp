// Purpose: the words for what was measured for a budget: its figure, and the lines that hold it.
#include "analyzer/budget/measured_wording.h"

#include <fmt/core.h>

#include "analyzer/wording/units.h"

namespace memtrace::budget {

std::string figure_in_words(const BudgetVerdict& verdict) {
  const Measured& measured = verdict.measured;
  std::string out = figure_text(verdict.budget, measured.figure);
  if (verdict.budget.quantity == Quantity::leak && measured.figure != 0) out += " " + measured.place;
  if ((verdict.budget.quantity == Quantity::peak || verdict.budget.quantity == Quantity::phase) &&
      !measured.place.empty())
    out += " in " + measured.place;
  if (!measured.process.empty()) out += fmt::format(" ({})", measured.process);
  if (!verdict.kept())
    out += fmt::format(", {} too much", figure_text(verdict.budget, measured.figure - verdict.budget.limit));
  return out;
}

std::string holder_in_words(const MemoryBudget& budget, const Holder& holder) {
  // Of findings, the name is the id.
  if (budget.quantity == Quantity::findings)
    return holder.file.empty() ? holder.function
                               : fmt::format("{} at {}:{}", holder.function, holder.file, holder.line);
  return fmt::format("{}:{}{}{}, {}", holder.file, holder.line, holder.function.empty() ? "" : " ",
                     holder.function, report::size(holder.bytes));
}

} // namespace memtrace::budget
