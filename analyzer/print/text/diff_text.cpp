// Purpose: writes a comparison as text.
#include "analyzer/print/text/diff_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "analyzer/explain/holder_rows.h"
#include "analyzer/print/text/sampled_text.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/text_table.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

class DiffTable {
 public:
  explicit DiffTable(const Diff& diff)
      : unit_(unit_for(std::max(diff.a.peak.bytes, diff.b.peak.bytes))),
        table_(2,
               {Column::number(shortened(diff.a.name, 10), 10), Column::number(shortened(diff.b.name, 10), 10),
                Column::number("change", 10), Column::text("role", 15, 15), Column::text("phase", 10, 10),
                Column::source_line(fmt::format("site ({})", unit_.name))}) {}

  void row(std::int64_t a, std::int64_t b, const std::string& role, const std::string& phase,
           const std::string& site) {
    table_.row({in_unit(a, unit_), in_unit(b, unit_), signed_in_unit(b - a, unit_), role, phase, site});
  }
  void write(Lines& lines) const { table_.write(lines); }
  const Unit& unit() const { return unit_; }

 private:
  Unit unit_;
  Table table_;
};

// True if the process was armed, and held memory before its recording began.
bool held_before(const DiffSide& side) {
  return side.analysis != nullptr && side.analysis->facts().before.has_value();
}

// The row of what no other row has.
void write_rest(DiffTable& table, const DiffRow& row, bool before) {
  const bool too_much = row.a < 0 || row.b < 0;
  table.row(row.a, row.b, before ? "no site" : "small blocks", "",
            too_much ? "sampling error; the total is exact"
            : before ? "held before recording began, and small blocks"
                     : "counted, not recorded one by one");
}

void write_row(DiffTable& table, const DiffRow& row) {
  std::string site =
      row.stack == format::StackId{} ? "-" : line_and_allocator(row.analysis->symbolizer->site(row.stack));
  if (row.variance > 0) site = sampled_mark(row.variance, table.unit()) + ": " + site;
  table.row(row.a, row.b, printable(row.use),
            printable(row.phase == "other" ? "outside" : phase_words(row.phase)), printable(site));
}

// True if the other side has the model's parameters among its blocks, and this one has only what belongs to
// them.
bool lacks_parameters(const Diff& diff, std::int64_t DiffRow::*here, std::int64_t DiffRow::*there) {
  constexpr std::int64_t kLeast = 1 << 20; // bytes
  std::int64_t parameters = 0, of_other = 0, gradients = 0;
  for (const DiffRow& row : diff.rows) {
    if (row.role == replay::Role::gradient) gradients = replay::wrapping_add(gradients, row.*here);
    if (row.role != replay::Role::parameter) continue;
    parameters = replay::wrapping_add(parameters, row.*here);
    of_other = replay::wrapping_add(of_other, row.*there);
  }
  return parameters == 0 && of_other >= kLeast && gradients >= kLeast;
}

void say_what_is_mapped(const Diff& diff, Lines& lines) {
  for (const auto& [side, here, there] :
       {std::tuple(&diff.a, &DiffRow::a, &DiffRow::b), std::tuple(&diff.b, &DiffRow::b, &DiffRow::a)})
    if (lacks_parameters(diff, here, there))
      lines.paragraph("  ", printable(side->name) + ": " + kParametersNotAllocated +
                                " Compare what is resident in the reports.");
}

} // namespace

std::string diff_text(const Diff& diff, std::size_t top, const Screen& screen) {
  Lines lines(screen);
  const std::int64_t largest = std::max(diff.a.peak.bytes, diff.b.peak.bytes);
  const std::string change = diff.total() == 0 ? "no change"
                                               : fmt::format("{} {}", size(std::abs(diff.total())),
                                                             diff.total() > 0 ? "more" : "less");
  std::string memories = memory_name(diff.b.memory);
  if (diff.a.memory != diff.b.memory) memories += " and " + memory_name(diff.a.memory);
  const bool tensors = diff.of.measure == replay::Measure::tensor;
  lines.strong(fmt::format("{} against {}, {}: {} of {} at the peak, {} and {}", printable(diff.b.name),
                           printable(diff.a.name), memories, change, tensors ? "tensors" : "all allocations",
                           size(diff.b.peak.bytes), size(diff.a.peak.bytes)));
  lines.paragraph("  ", printable(diff.a.name + ": " + diff.a.where));
  lines.paragraph("  ", printable(diff.b.name + ": " + diff.b.where));
  say_what_is_mapped(diff, lines);
  DiffTable table(diff);
  // Sums up rows below the precision of the figures, unless all rows were requested.
  const bool everything = top > diff.rows.size();
  const ShortDiff shortened = shorten(diff, top, everything ? 0 : std::max<std::int64_t>(largest / 1000, 1));
  const bool before = held_before(diff.a) || held_before(diff.b);
  for (std::size_t i = 0; i < shortened.shown; ++i) {
    if (diff.rows[i].analysis == nullptr)
      write_rest(table, diff.rows[i], before);
    else
      write_row(table, diff.rows[i]);
  }
  if (shortened.left != 0)
    table.row(shortened.rest.a, shortened.rest.b, fmt::format("{} more", shortened.left), "",
              "memtrace diff --top N");
  table.row(diff.a.peak.bytes, diff.b.peak.bytes, "=", "", "");
  table.write(lines);
  if (diff.a.reserved != 0 || diff.b.reserved != 0)
    lines.paragraph("", fmt::format("Reserved and never touched, not counted above: {} and {}",
                                    size(diff.a.reserved), size(diff.b.reserved)));
  return lines.take();
}

} // namespace memtrace::report
