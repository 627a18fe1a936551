// Purpose: writes the table of the blocks alive at one instant, by the module of a model or by role.
#include "analyzer/print/text/grouped_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "analyzer/print/text/sampled_text.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/text_table.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

constexpr std::int64_t kSmallPart = 100; // a part below 1/100 of its row is not named
constexpr std::size_t kMostParts = 3;    // that are named: more do not fit
constexpr const char* kNoModule = "(no module)";

// Returns "activation 80.10, gradient 20.00": the parts of a row, the largest first. If bytes of the row are an
// estimate, the text begins with "sampled, +-1.00: " or, if it has other bytes too, "partly sampled, +-1.00: ".
std::string details_of(const GroupedRow& row, const Unit& unit) {
  std::string text;
  std::size_t named = 0;
  for (const auto& [name, bytes] : row.parts) {
    if (bytes < row.bytes / kSmallPart || named++ == kMostParts) break;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name.empty() ? kNoModule : printable(name),
                        in_unit(bytes, unit));
  }
  if (row.sampled == 0) return text;
  const std::string mark = (row.sampled == row.bytes ? "" : "partly ") + sampled_mark(row.variance, unit);
  return text.empty() ? mark : mark + ": " + text;
}

std::string percent_of(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return "";
  return fmt::format("{:.1f}", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

// Returns the bytes that were counted and not recorded one by one.
std::int64_t not_recorded(const std::vector<GroupedRow>& rows, std::int64_t total) {
  for (const GroupedRow& row : rows) total = replay::wrapping_sub(total, row.bytes);
  return total;
}

// Adds these bytes to the row without a module, so that the rows add up to the total.
void add_to_no_module(std::vector<GroupedRow>& rows, const char* name, std::int64_t left) {
  auto none = std::find_if(rows.begin(), rows.end(), [](const GroupedRow& row) { return row.name.empty(); });
  if (none == rows.end()) none = rows.insert(rows.end(), GroupedRow{});
  none->bytes = replay::wrapping_add(none->bytes, left);
  none->parts.emplace_back(name, left);
  std::stable_sort(none->parts.begin(), none->parts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
}

// Moves the row without a module behind the others, where the reader looks for the rest.
void put_last(std::vector<GroupedRow>& rows) {
  std::stable_partition(rows.begin(), rows.end(), [](const GroupedRow& row) { return !row.name.empty(); });
}

} // namespace

void write_grouped(ProcessAnalysis& analysis, const Held& held, Grouping by, std::size_t most, Lines& lines) {
  std::vector<GroupedRow> rows = grouped_rows(analysis, held.set, by);
  const bool of_modules = by == Grouping::module;
  const bool samples =
      std::any_of(rows.begin(), rows.end(), [](const GroupedRow& row) { return row.sampled != 0; });
  const char* const small = uncovered_row(analysis.facts(), held.of_device);
  const std::int64_t left = not_recorded(rows, held.total);
  if (left != 0 && of_modules) add_to_no_module(rows, small, left);
  put_last(rows);
  Table table(2,
              {Column::text("", 4, 48), of_modules ? Column::text("", 0, 8) : Column::text("", 0, 0),
               Column::number("", 9), Column::extra("%", 5), Column::detail(of_modules ? "roles" : "modules")});
  table.head(held.title + (of_modules ? ", by module, " : ", by role, ") + held.unit.name);
  const auto row = [&](std::string name, std::string layers, std::int64_t bytes, std::string details) {
    table.row({std::move(name), std::move(layers), in_unit(bytes, held.unit), percent_of(bytes, held.total),
               std::move(details)});
  };
  std::size_t hidden = 0;
  std::int64_t more = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const GroupedRow& one = rows[i];
    if (!one.name.empty() && i >= most) {
      ++hidden;
      more = replay::wrapping_add(more, one.bytes);
      continue;
    }
    if (hidden != 0 && one.name.empty())
      row(fmt::format("{} more", std::exchange(hidden, 0)), "", more, held.others);
    row(one.name.empty() ? kNoModule : printable(one.name),
        one.modules > 1 ? fmt::format("x {}", one.modules) : "", one.bytes, details_of(one, held.unit));
  }
  if (hidden != 0) row(fmt::format("{} more", hidden), "", more, held.others);
  if (left != 0 && !of_modules) row(small, "", left, why_left(left, samples));
  row(held.sum, "", held.total, held.at);
  table.write(lines);
}

} // namespace memtrace::report
