// Purpose: `memtrace check`.
#include "analyzer/cli/commands/check_command.h"

#include <filesystem>

#include "analyzer/budget/baseline.h"
#include "analyzer/budget/verdict_formats.h"
#include "analyzer/budget/verdicts.h"
#include "analyzer/cli/commands/report_command.h"
#include "analyzer/cli/common/output.h"
#include "analyzer/cli/common/screen.h"

namespace memtrace::cli {
namespace {

// Of each peak: a row is one site in one step, and the rows of a line are added up.
constexpr std::size_t kRows = 500;

std::string working_directory() {
  std::error_code none; // without a directory, files keep their names
  return std::filesystem::current_path(none).string();
}

std::vector<budget::MemoryBudget> budgets_of(const CheckArguments& arguments) {
  std::vector<budget::MemoryBudget> out;
  for (const std::string& text : arguments.max) out.push_back(budget::parse_budget(text, "--max"));
  return out;
}

} // namespace

int check_command(const CheckArguments& arguments) {
  // The texts are judged before the trace is read, which may take long.
  const std::vector<budget::MemoryBudget> budgets = budgets_of(arguments);
  std::vector<budget::MemoryBudget> earlier;
  if (!arguments.baseline.empty())
    earlier = budget::baseline_budgets(arguments.baseline, arguments.tolerance / 100);
  const budget::Json report = budget::Json::parse(report_json(arguments.trace, kRows));
  budget::BudgetVerdicts verdicts = budget::judge(report, budgets);
  for (budget::BudgetVerdict& one : budget::judge_baseline(report, earlier)) verdicts.push_back(std::move(one));
  if (!arguments.junit.empty()) write_all({budget::junit_text(verdicts)}, arguments.junit);
  std::string text =
      budget::verdicts_text(verdicts, screen_of(""), arguments.all || arguments.baseline.empty());
  if (arguments.format == "github") text += budget::github_text(verdicts, working_directory());
  write_all({text}, "");
  return budget::all_kept(verdicts) ? 0 : 1;
}

} // namespace memtrace::cli
