// Purpose: writes the table of the blocks alive at one instant, for a postmortem.
#include "analyzer/print/text/held_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "analyzer/explain/block_owner.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/text_table.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {

std::string site_and_caller(ProcessAnalysis& analysis, format::StackId stack) {
  if (stack == format::StackId{}) return "-";
  const symbols::Site& at = analysis.symbolizer->site(stack);
  return printable(at.caller.empty() ? at.title() : at.title() + " <- " + at.caller);
}

namespace {

// Returns a shorter site for a column: for an operator with a known user line, its name and that line.
std::string short_site(ProcessAnalysis& analysis, format::StackId stack) {
  if (stack == format::StackId{}) return "-";
  const symbols::Site& at = analysis.symbolizer->site(stack);
  return at.op.empty() || at.caller.empty() ? site_and_caller(analysis, stack)
                                            : printable(at.op + " <- " + at.caller);
}

struct HeldLine {
  std::int64_t bytes = 0;
  std::uint64_t blocks = 0;
  std::string what, since, site;
};

std::vector<HeldLine> grouped(ProcessAnalysis& analysis, const replay::Holdings& holdings) {
  constexpr std::size_t kNamed = 400; // names cost time; sites after the first 400 are small
  std::map<std::tuple<std::string, std::string, std::string>, std::pair<std::int64_t, std::uint64_t>> groups;
  std::size_t number = 0;
  for (const replay::Holding& holding : holdings) {
    const BlockOwner holder = owner_of(analysis, holding);
    std::string what = holder.name;
    if (what.empty()) what = replay::role_name(holder.role);
    if (holder.role == replay::Role::unknown)
      what = holding.tensor ? "tensor" : format::kKindNames[static_cast<std::size_t>(holding.kind)];
    const std::string since =
        when(printable(analysis.account.paths.text(holding.born_phase)), holding.born_step);
    const bool named = ++number <= kNamed && holding.stack != format::StackId{};
    auto& [bytes, blocks] = groups[{what, since, named ? short_site(analysis, holding.stack) : "-"}];
    bytes = replay::wrapping_add(bytes, holding.bytes);
    blocks += holding.blocks;
  }
  std::vector<HeldLine> out;
  out.reserve(groups.size());
  for (const auto& [key, sum] : groups)
    out.push_back({sum.first, sum.second, std::get<0>(key), std::get<1>(key), std::get<2>(key)});
  std::stable_sort(out.begin(), out.end(),
                   [](const HeldLine& a, const HeldLine& b) { return a.bytes > b.bytes; });
  return out;
}

// Returns the lines of the set, the largest first. Small lines share one line, and bytes without records have
// one line. So the bytes add up to the total.
std::vector<HeldLine> lines_of(ProcessAnalysis& analysis, const Held& held, std::size_t most) {
  std::vector<HeldLine> all = grouped(analysis, held.set);
  std::int64_t left = held.total, more = 0;
  for (const HeldLine& line : all) left = replay::wrapping_sub(left, line.bytes);
  std::size_t shown = 0;
  while (shown < all.size() && shown < most && all[shown].bytes >= held.total / 200) ++shown;
  for (std::size_t i = shown; i < all.size(); ++i) more = replay::wrapping_add(more, all[i].bytes);
  const std::size_t hidden = all.size() - shown;
  all.resize(shown);
  if (hidden != 0) all.push_back({more, 0, fmt::format("{} more", hidden), "", "--format json has them"});
  if (left != 0)
    all.push_back({left, 0, analysis.facts().fork ? "inherited, small" : "small blocks", "",
                   left < 0 ? "too much in the samples: the sum is counted exactly" : "counted, not recorded"});
  return all;
}

} // namespace

void write_held(ProcessAnalysis& analysis, const Held& held, std::size_t most, Lines& lines) {
  Table table(2, {Column::text("", 4, 16), Column::number(held.unit.name, 9), Column::number("blocks", 7),
                  Column::text("since", 0, 16), Column::rest("site")});
  table.head(held.title);
  for (const HeldLine& line : lines_of(analysis, held, most))
    table.row({line.what, in_unit(line.bytes, held.unit), line.blocks == 0 ? "" : count(line.blocks),
               line.since, line.site});
  table.row({held.sum, in_unit(held.total, held.unit)});
  table.write(lines);
}

} // namespace memtrace::report
