// Purpose: writes the table of a job's ranks: their levels by phase, and how they ended.
#include "analyzer/print/text/rank_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "analyzer/trace/coordinates.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/text_table.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

constexpr std::size_t kMostSingle = 16; // ranks with a row of their own
constexpr std::size_t kMostRows = 24;
constexpr const char* kPhases[] = {"load", "forward", "backward", "step", "eval", "generate"};

using Group = std::vector<const ProcessSummary*>; // ordered by rank

bool by_rank(const ProcessSummary* a, const ProcessSummary* b) {
  return a->rank < b->rank;
}

// Splits ranks that ended alike where the next larger one holds over a tenth more than the smallest of its
// group.
void split_by_level(Group ranks, std::vector<Group>& out) {
  constexpr std::int64_t kPart = 10, kSlack = 16 << 20;
  std::stable_sort(ranks.begin(), ranks.end(), [](const ProcessSummary* a, const ProcessSummary* b) {
    return a->allocated < b->allocated;
  });
  std::int64_t least = 0;
  bool open = false;
  for (const ProcessSummary* rank : ranks) {
    if (!open || rank->allocated > least + least / kPart + kSlack) {
      out.emplace_back();
      least = rank->allocated;
      open = true;
    }
    out.back().push_back(rank);
  }
}

std::vector<Group> groups_of(const std::vector<const ProcessSummary*>& ranks) {
  std::vector<Group> out;
  if (ranks.size() <= kMostSingle) {
    for (const ProcessSummary* rank : ranks) out.push_back({rank});
    return out;
  }
  std::map<std::tuple<std::uint32_t, std::string>, Group> alike;
  for (const ProcessSummary* rank : ranks)
    alike[{trace::stage_of(rank->coordinates), rank->how}].push_back(rank);
  for (auto& [key, group] : alike) split_by_level(std::move(group), out);
  for (Group& group : out) std::stable_sort(group.begin(), group.end(), by_rank);
  std::stable_sort(out.begin(), out.end(),
                   [](const Group& a, const Group& b) { return by_rank(a.front(), b.front()); });
  return out;
}

std::string name_of(const Group& group) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(group.size());
  for (const ProcessSummary* rank : group) numbers.push_back(rank->rank);
  return ranks_named(numbers);
}

// Returns the coordinates that all ranks of the group share.
std::string shared_place(const Group& group) {
  trace::Coordinates shared = group.front()->coordinates;
  for (const ProcessSummary* rank : group)
    std::erase_if(shared, [&](const trace::Coordinate& one) {
      return std::find(rank->coordinates.begin(), rank->coordinates.end(), one) == rank->coordinates.end();
    });
  return printable(trace::text_of(shared));
}

// Returns "12.50", or "12.50 to 13.00" for a group. "" if no rank has the figure.
template <class Figure>
std::string range(const Group& group, const Unit& unit, Figure figure) {
  std::int64_t least = 0, most = 0;
  for (const ProcessSummary* rank : group) {
    const std::int64_t bytes = figure(*rank);
    if (bytes == 0) continue;
    least = least == 0 ? bytes : std::min(least, bytes);
    most = std::max(most, bytes);
  }
  if (most == 0) return "";
  const std::string a = in_unit(least, unit), b = in_unit(most, unit);
  return a == b ? a : a + " to " + b;
}

std::string time_of(const Group& group) {
  const auto [first, last] = std::minmax_element(
      group.begin(), group.end(),
      [](const ProcessSummary* a, const ProcessSummary* b) { return a->seconds < b->seconds; });
  const std::string a = duration((*first)->seconds), b = duration((*last)->seconds);
  return a == b ? a : a + " to " + b;
}

std::int64_t of_phase(const ProcessSummary& rank, const char* phase) {
  const auto at = rank.phases.find(phase);
  return at == rank.phases.end() ? 0 : at->second;
}

std::vector<const char*> phases_of(const std::vector<const ProcessSummary*>& ranks) {
  std::vector<const char*> out;
  for (const char* const phase : kPhases)
    if (std::any_of(ranks.begin(), ranks.end(),
                    [&](const ProcessSummary* rank) { return of_phase(*rank, phase) != 0; }))
      out.push_back(phase);
  return out;
}

class RankTable {
 public:
  explicit RankTable(const std::vector<const ProcessSummary*>& ranks)
      : groups_(groups_of(ranks)), phases_(phases_of(ranks)) {
    std::int64_t highest = 0;
    for (const ProcessSummary* rank : ranks) {
      highest = std::max({highest, rank->allocated, rank->resident, rank->tensors});
      placed_ = placed_ || !rank->coordinates.empty();
      on_gpu_ = on_gpu_ || rank->phases_on_gpu;
    }
    unit_ = unit_for(highest);
    single_ = std::all_of(groups_.begin(), groups_.end(), [](const Group& group) { return group.size() == 1; });
  }

  void write(Lines& lines) const {
    Table table(2, columns());
    table.head(fmt::format("At most, {}", unit_.name));
    for (std::size_t i = 0; i < std::min(kMostRows, groups_.size()); ++i) table.row(row(groups_[i]));
    if (groups_.size() > kMostRows)
      table.remark(fmt::format("  and {} more groups", groups_.size() - kMostRows));
    table.write(lines);
    if (!phases_.empty())
      lines.faint(fmt::format("  columns of phases: {} at most in that phase",
                              on_gpu_ ? "tensors on the GPU," : "allocated"));
  }

 private:
  std::vector<Column> columns() const {
    std::vector<Column> out = {Column::text("", 8)};
    if (placed_) out.push_back(Column::text("place"));
    if (single_) out.push_back(Column::number("pid", 7));
    out.push_back(Column::number("allocated", 9));
    out.push_back(Column::extra("tensors", 8));
    out.push_back(Column::number("resident", 9));
    for (const char* const phase : phases_) out.push_back(Column::extra(phase_words(phase), 8));
    if (placed_) out.push_back(Column::extra("after", 8)); // else there is room for it beside the end
    out.push_back(Column::text("end", 3, 60));             // rather than it, columns of phases are left out
    return out;
  }

  std::vector<std::string> row(const Group& group) const {
    std::vector<std::string> out = {name_of(group)};
    if (placed_) out.push_back(shared_place(group));
    if (single_) out.push_back(std::to_string(group.front()->pid));
    out.push_back(range(group, unit_, [](const ProcessSummary& rank) { return rank.allocated; }));
    out.push_back(range(group, unit_, [](const ProcessSummary& rank) { return rank.tensors; }));
    out.push_back(range(group, unit_, [](const ProcessSummary& rank) { return rank.resident; }));
    for (const char* const phase : phases_)
      out.push_back(range(group, unit_, [&](const ProcessSummary& rank) { return of_phase(rank, phase); }));
    if (placed_) out.push_back(time_of(group));
    out.push_back(placed_ ? group.front()->how
                          : fmt::format("{} after {}", group.front()->how, time_of(group)));
    return out;
  }

  std::vector<Group> groups_;
  std::vector<const char*> phases_;
  Unit unit_;
  bool placed_ = false, single_ = true, on_gpu_ = false;
};

} // namespace

std::string ranks_named(const std::vector<std::uint32_t>& numbers) {
  constexpr unsigned kMostRanges = 4;
  std::string out;
  unsigned ranges = 0;
  std::size_t left = 0;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (++ranges <= kMostRanges) {
      out += fmt::format("{}{}", out.empty() ? "" : ", ", numbers[i]);
      if (end - i > 1) out += fmt::format("{}{}", end - i == 2 ? ", " : " to ", numbers[end - 1]);
    } else {
      left += end - i;
    }
    i = end;
  }
  if (left != 0) out += fmt::format(" and {} more", left);
  return (numbers.size() == 1 ? "rank " : "ranks ") + out;
}

void write_rank_table(const std::vector<const ProcessSummary*>& ranks, Lines& lines) {
  RankTable(ranks).write(lines);
}

} // namespace memtrace::report
