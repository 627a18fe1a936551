// Purpose: writes as text what the first step added for good, and what only it needed.
#include "analyzer/print/text/first_step_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/wording/labels.h"
#include "analyzer/wording/text_lines.h"
#include "analyzer/wording/text_table.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

std::int64_t number(replay::Step step) {
  return static_cast<std::int64_t>(step);
}

constexpr std::int64_t kLeast = 1 << 18; // bytes: a quarter of a MiB explains no step

bool has_rows(const std::vector<HolderRow>& rows) {
  return !rows.empty() && rows.front().bytes >= kLeast;
}

void add_rows(Table& table, const char* when, const std::vector<HolderRow>& rows, const Unit& unit) {
  constexpr std::size_t kMost = 8;
  for (std::size_t i = 0; i < std::min(kMost, rows.size()); ++i) {
    const HolderRow& row = rows[i];
    if (row.bytes < kLeast) break;
    table.row({when, printable(row.use), signed_in_unit(row.bytes, unit), printable(row.line),
               printable(row.allocator) + (row.sites > 1 ? fmt::format(", {} more", row.sites - 1) : "")});
  }
}

} // namespace

std::string first_step_text(const FirstStep& first, const Findings& leaks, const Screen& screen) {
  Lines lines(screen);
  const std::string typical =
      fmt::format("typical: steps {} to {}", number(first.typical.front()), number(first.typical.back()));
  lines.strong(fmt::format("Step {} added {} for good, and {} that a typical step does not need ({})",
                           number(first.step), size(first.for_good), size(first.only_then), typical));
  const Unit unit = unit_for(std::max(first.for_good, first.only_then));
  Table table(2, {Column::text(""), Column::text("", 0, 16), Column::number(unit.name, 9),
                  Column::source_line("your line"), Column::detail("allocated by")});
  add_rows(table, "for good", first.good_rows, unit);
  add_rows(table, "only then", first.only_then_rows, unit);
  if (has_rows(first.good_rows) || has_rows(first.only_then_rows)) table.write(lines);
  for (const Finding& leak : leaks) lines.labelled("  every step  ", "              ", printable(leak.title));
  lines.plain("");
  return lines.take();
}

} // namespace memtrace::report
