// Purpose: groups the blocks alive at one instant by the module of a model, or by role.
#include "analyzer/explain/grouped_rows.h"

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/attribute/module_patterns.h"
#include "analyzer/explain/block_owner.h"
#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::report {
namespace {

struct GroupedSum {
  std::int64_t bytes = 0;
  std::int64_t sampled = 0; // of the bytes
  double variance = 0;
  std::set<format::TextId> modules;
  std::map<std::string, std::int64_t> parts;

  void add(const replay::Holding& holding, const std::string& part) {
    const auto more = static_cast<std::int64_t>(holding.bytes - holding.untouched);
    bytes = replay::wrapping_add(bytes, more);
    if (holding.sampled) sampled = replay::wrapping_add(sampled, more);
    variance += static_cast<double>(holding.error) * static_cast<double>(holding.error);
    modules.insert(holding.modules.begin(), holding.modules.end());
    std::int64_t& of = parts[part];
    of = replay::wrapping_add(of, more);
  }
};

// Returns true if the first one has more bytes.
bool is_larger(const std::pair<std::string, std::int64_t>& a, const std::pair<std::string, std::int64_t>& b) {
  return a.second > b.second;
}

} // namespace

std::vector<GroupedRow> grouped_rows(ProcessAnalysis& analysis, const replay::Holdings& alive, Grouping by) {
  std::map<std::string, GroupedSum> sums;
  for (const replay::Holding& holding : alive) {
    if (holding.untouched != 0 && holding.untouched == holding.bytes) continue;
    std::string module(replay::module_pattern(analysis.trace->definitions().text(holding.module)));
    std::string use = use_of(analysis, holding);
    if (by == Grouping::role) std::swap(module, use);
    sums[module].add(holding, use);
  }
  std::vector<GroupedRow> out;
  out.reserve(sums.size());
  for (auto& [name, sum] : sums) {
    GroupedRow row{name,         by == Grouping::module ? sum.modules.size() : 0,
                   sum.bytes,    sum.sampled,
                   sum.variance, {sum.parts.begin(), sum.parts.end()}};
    std::stable_sort(row.parts.begin(), row.parts.end(), is_larger);
    out.push_back(std::move(row));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const GroupedRow& a, const GroupedRow& b) { return a.bytes > b.bytes; });
  return out;
}

} // namespace memtrace::report
