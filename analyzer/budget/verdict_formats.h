// Purpose: writes the verdicts about budgets in each format: as text, for GitHub Actions, for JUnit.
#pragma once

#include <string>

#include "analyzer/budget/verdicts.h"
#include "analyzer/wording/text_lines.h"

namespace memtrace::budget {

// Returns a line for each budget, with the lines of the program that hold the figure of a broken one. Without
// `whole`, one line counts the budgets that are kept.
std::string verdicts_text(const BudgetVerdicts& verdicts, const report::Screen& screen, bool whole);

// Returns an annotation of GitHub Actions for each broken budget. Files below `directory` are named from there.
std::string github_text(const BudgetVerdicts& verdicts, const std::string& directory);

// Returns a JUnit report in XML: a test case for each budget.
std::string junit_text(const BudgetVerdicts& verdicts);

} // namespace memtrace::budget
