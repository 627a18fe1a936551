// Purpose: writes the table of the blocks alive at one instant, by the user's line.
#include "analyzer/print/text/held_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "analyzer/explain/holder_rows.h"
#include "analyzer/print/text/sampled_text.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/text_table.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

constexpr std::int64_t kSmallSite = 1000; // a site below 1/1000 of the total shares the row of its line

struct ShownHolders {
  std::vector<HolderRow> rows;
  std::size_t hidden = 0;      // rows that are only summed up
  std::int64_t more = 0;       // their bytes
  std::int64_t left = 0;       // bytes without records
  std::int64_t of_earlier = 0; // bytes of earlier steps that training does not need from step to step
  bool samples = false;
};

// Rows below the precision of the figures are summed up, unless all were requested. Then those of a line are.
// So the rows add up to the total.
ShownHolders shown(ProcessAnalysis& analysis, const Held& held, std::size_t most) {
  ShownHolders out;
  out.rows =
      holder_rows(analysis, held.set, held.all ? HolderDetail::by_site : HolderDetail::by_line, held.now);
  if (held.all) out.rows = with_small_sites_joined(out.rows, held.total / kSmallSite);
  out.left = held.total;
  for (const HolderRow& row : out.rows) {
    out.left = replay::wrapping_sub(out.left, row.bytes);
    out.samples = out.samples || row.sampled;
    if (row.left && !replay::is_kept(row.role))
      out.of_earlier = replay::wrapping_add(out.of_earlier, row.bytes);
  }
  std::size_t kept = 0;
  while (kept < out.rows.size() && kept < most && (held.all || out.rows[kept].bytes >= held.total / kSmallSite))
    ++kept;
  for (std::size_t i = kept; i < out.rows.size(); ++i)
    out.more = replay::wrapping_add(out.more, out.rows[i].bytes);
  out.hidden = out.rows.size() - kept;
  out.rows.resize(kept);
  return out;
}

std::string percent(std::int64_t part, std::int64_t of) {
  if (of <= 0) return "";
  const std::string text = fmt::format("{:.1f}", 100 * static_cast<double>(part) / static_cast<double>(of));
  return text == "-0.0" ? "0.0" : text;
}

std::string in_parameters(const ProcessAnalysis& analysis, std::int64_t bytes) {
  const auto& parameters = analysis.facts().parameters;
  if (!parameters || parameters->bytes == 0) return "";
  const double p = static_cast<double>(bytes) / static_cast<double>(parameters->bytes);
  return p < 0.0005 || p >= 1000 ? "" : fmt::format("{:.3f}", p);
}

std::string allocated_by(const HolderRow& row, const Unit& unit) {
  const bool nothing = row.allocator.empty() && row.line.empty();
  std::string text = nothing ? "no stack" : printable(row.allocator);
  std::size_t named = 1;
  if (!row.next_allocator.empty())
    text += fmt::format("{}{}", text.empty() ? "" : ", ", printable(row.next_allocator)), ++named;
  if (row.sites > named) text += fmt::format("{}+{} more", text.empty() ? "" : " ", row.sites - named);
  const std::string first = row.sampled ? sampled_mark(row.variance, unit) : few_blocks(row, unit);
  return first + (first.empty() || text.empty() ? "" : ": ") + text;
}

} // namespace

std::string site_and_caller(ProcessAnalysis& analysis, format::StackId stack) {
  if (stack == format::StackId{}) return "-";
  const symbols::Site& at = analysis.symbolizer->site(stack);
  return printable(at.caller.empty() ? at.title() : at.title() + " <- " + at.caller);
}

void write_held(ProcessAnalysis& analysis, const Held& held, std::size_t most, Lines& lines) {
  const ShownHolders holders = shown(analysis, held, most);
  const bool lined = std::any_of(holders.rows.begin(), holders.rows.end(),
                                 [](const HolderRow& row) { return !row.line.empty(); });
  Column of_user = Column::source_line(lined ? "your line" : "");
  const bool times_p = held.of_tensors && analysis.facts().parameters;
  Table table(2, {Column::text("", 4, 16), Column::number("", 9), Column::extra("%", 5),
                  times_p ? Column::extra("x P", 6) : Column::number("", 0), Column::text("since", 0, 20),
                  std::move(of_user), Column::detail("allocated by")});
  table.head(held.title + ", " + held.unit.name);
  const auto figures = [&](std::string name, std::int64_t bytes) {
    return std::vector<std::string>{std::move(name), in_unit(bytes, held.unit), percent(bytes, held.total),
                                    times_p ? in_parameters(analysis, bytes) : ""};
  };
  const auto row = [&](std::vector<std::string> cells, std::string when, std::string line, std::string by) {
    cells.insert(cells.end(), {std::move(when), std::move(line), std::move(by)});
    table.row(std::move(cells));
  };
  for (const HolderRow& one : holders.rows)
    row(figures(printable(one.use), one.bytes), printable(since(one, analysis.after_training)),
        printable(one.line), allocated_by(one, held.unit));
  if (holders.hidden != 0)
    row(figures(fmt::format("{} more", holders.hidden), holders.more), "", "", held.others);
  if (holders.left != 0)
    row(figures(uncovered_row(analysis.facts(), held.of_device), holders.left), "", "",
        why_left(holders.left, holders.samples));
  row(figures(held.sum, held.total), held.at, "", "");
  table.write(lines);
  if (holders.of_earlier < std::max<std::int64_t>(held.total / 100, 1)) return;
  const std::int64_t last = static_cast<std::int64_t>(held.now) - 1;
  const std::string now = held.now == analysis.after_training ? fmt::format("what came after step {}", last)
                                                              : fmt::format("step {}'s", last + 1);
  lines.paragraph("", fmt::format("Left of {}: {}. Not in it: {}, parameters, gradients, optimizer states, "
                                  "buffers and input",
                                  last == 0 ? "step 0" : fmt::format("steps 0 to {}", last),
                                  size(holders.of_earlier), now));
}

} // namespace memtrace::report
