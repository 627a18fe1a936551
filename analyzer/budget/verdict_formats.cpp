// Purpose: writes the verdicts about budgets in each format: as text, for GitHub Actions, for JUnit.
#include <fmt/core.h>

#include <algorithm>

#include "analyzer/budget/measured_wording.h"
#include "analyzer/budget/verdict_formats.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::budget {
namespace {

// Returns the text with these letters replaced.
std::string replaced(const std::string& text, std::initializer_list<std::pair<char, const char*>> by) {
  std::string out;
  for (const char letter : text) {
    const auto* const found =
        std::find_if(by.begin(), by.end(), [letter](const auto& one) { return one.first == letter; });
    if (found == by.end())
      out += letter;
    else
      out += found->second;
  }
  return out;
}

// A message of a workflow command ends at a line break; a property also at ',' and ':'.
// Source: actions/toolkit, packages/core/src/command.ts.
std::string message_of(const std::string& text) {
  return replaced(text, {{'%', "%25"}, {'\r', "%0D"}, {'\n', "%0A"}});
}
std::string property_of(const std::string& text) {
  return replaced(text, {{'%', "%25"}, {'\r', "%0D"}, {'\n', "%0A"}, {':', "%3A"}, {',', "%2C"}});
}

std::string xml_of(const std::string& text) {
  return replaced(report::printable(text),
                  {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&apos;"}});
}

std::string name_from(const std::string& file, const std::string& directory) {
  const std::string below = directory + "/";
  return file.starts_with(below) ? file.substr(below.size()) : file;
}

} // namespace

std::string verdicts_text(const BudgetVerdicts& verdicts, const report::Screen& screen, bool whole) {
  report::Lines lines(screen);
  std::size_t kept = 0;
  for (const BudgetVerdict& one : verdicts) {
    if (one.kept()) {
      ++kept;
      if (whole)
        lines.plain(report::printable(fmt::format("kept    {}: {}", one.budget.text, figure_in_words(one))));
      continue;
    }
    lines.strong(report::printable(fmt::format("BROKEN  {}: {}", one.budget.text, figure_in_words(one))));
    for (const Holder& holder : one.measured.holders)
      lines.plain(report::printable("        " + holder_in_words(one.budget, holder)));
  }
  const std::size_t all = verdicts.size(), broken = all - kept;
  if (all == 1)
    lines.plain(broken == 0 ? "The budget is kept." : "The budget is broken.");
  else if (broken == 0)
    lines.plain(fmt::format("All {} budgets are kept.", all));
  else
    lines.plain(fmt::format("{} of {} budgets {} broken.", broken, all, broken == 1 ? "is" : "are"));
  return lines.take();
}

std::string github_text(const BudgetVerdicts& verdicts, const std::string& directory) {
  std::string out;
  for (const BudgetVerdict& one : verdicts) {
    if (one.kept()) continue;
    std::string place;
    if (!one.measured.holders.empty() && !one.measured.holders.front().file.empty()) {
      const Holder& largest = one.measured.holders.front();
      place = fmt::format("file={},line={},",
                          property_of(report::printable(name_from(largest.file, directory))), largest.line);
    }
    out += fmt::format("::error {}title=memory budget::{}\n", place,
                       message_of(report::printable(one.budget.text + ": " + figure_in_words(one))));
  }
  return out;
}

std::string junit_text(const BudgetVerdicts& verdicts) {
  const auto broken =
      std::count_if(verdicts.begin(), verdicts.end(), [](const BudgetVerdict& one) { return !one.kept(); });
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
      "<testsuite name=\"memtrace\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"0\">\n",
      verdicts.size(), broken);
  for (const BudgetVerdict& one : verdicts) {
    out += fmt::format("<testcase classname=\"memtrace.budget\" name=\"{}\"", xml_of(one.budget.text));
    if (one.kept()) {
      out += "/>\n";
      continue;
    }
    out += fmt::format(">\n<failure message=\"{}\">", xml_of(figure_in_words(one)));
    for (const Holder& holder : one.measured.holders) out += xml_of(holder_in_words(one.budget, holder)) + "\n";
    out += "</failure>\n</testcase>\n";
  }
  return out + "</testsuite>\n</testsuites>\n";
}

} // namespace memtrace::budget
