// Purpose: writes the table of the blocks alive at one instant, by the module of a model or by role.
#include "analyzer/print/text/grouped_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/text_table.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

constexpr std::int64_t kSmallPart = 100; // a part below 1/100 of its row is not named
constexpr std::size_t kMostParts = 3;    // that are named: more do not fit
constexpr const char* kNoModule = "(no module)";
constexpr const char* kNotRecorded = "small blocks";

// Returns "activation 80.10, gradient 20.00": the parts of a row, the largest first.
std::string parts_of(const GroupedRow& row, const Unit& unit) {
  std::string text;
  std::size_t named = 0;
  for (const auto& [name, bytes] : row.parts) {
    if (bytes < row.bytes / kSmallPart || named++ == kMostParts) break;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name.empty() ? kNoModule : printable(name),
                        in_unit(bytes, unit));
  }
  return text;
}

std::string percent_of(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return "";
  return fmt::format("{:.1f}", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

// Adds the bytes that were counted and not recorded one by one, so that the rows add up to `total`.
void add_not_recorded(std::vector<GroupedRow>& rows, std::int64_t total, bool forked, Grouping by) {
  std::int64_t left = total;
  for (const GroupedRow& row : rows) left = replay::wrapping_sub(left, row.bytes);
  if (left == 0) return;
  const std::string what = forked ? "inherited, small" : kNotRecorded;
  if (by == Grouping::role) {
    rows.push_back({what, 0, left, 0, false, {}});
    return;
  }
  auto none = std::find_if(rows.begin(), rows.end(), [](const GroupedRow& row) { return row.name.empty(); });
  if (none == rows.end()) none = rows.insert(rows.end(), GroupedRow{});
  none->bytes = replay::wrapping_add(none->bytes, left);
  none->parts.emplace_back(what, left);
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
  add_not_recorded(rows, held.total, analysis.facts().fork.has_value(), by);
  put_last(rows);
  const bool of_modules = by == Grouping::module;
  Table table(2,
              {Column::text("", 4, 48), of_modules ? Column::text("", 0, 8) : Column::text("", 0, 0),
               Column::number("", 9), Column::extra("%", 5), Column::detail(of_modules ? "roles" : "modules")});
  table.head(held.title + (of_modules ? ", by module, " : ", by role, ") + held.unit.name);
  const auto row = [&](std::string name, std::string layers, std::int64_t bytes, std::string parts) {
    table.row({std::move(name), std::move(layers), in_unit(bytes, held.unit), percent_of(bytes, held.total),
               std::move(parts)});
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
        one.modules > 1 ? fmt::format("x {}", one.modules) : "", one.bytes, parts_of(one, held.unit));
  }
  if (hidden != 0) row(fmt::format("{} more", hidden), "", more, held.others);
  row(held.sum, "", held.total, held.at);
  table.write(lines);
}

} // namespace memtrace::report
