// Purpose: the blocks of a peak, grouped so that the groups of several processes can be compared.
#include "analyzer/export/tables/peak_groups.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::report {
namespace {

constexpr std::size_t kLargestGroups = 200; // after many imports, a peak has 5,000 stacks

using GroupKey = std::tuple<std::string, std::string, std::optional<std::string>, std::optional<std::string>,
                            std::optional<std::string>, bool>;

GroupKey key_of(const PeakGroup& group) {
  return {group.role, group.kind, group.own_line, group.allocated_by, group.born_phase, group.sampled};
}

PeakGroup group_of(ProcessAnalysis& analysis, const replay::Holding& one) {
  PeakGroup out;
  out.role = replay::role_name(one.role);
  out.kind = format::kKindNames[static_cast<std::size_t>(one.kind)];
  if (one.stack != format::StackId{}) {
    const symbols::Site& site = analysis.symbolizer->site(one.stack);
    out.own_line = site.line();
    out.allocated_by = site.title();
  }
  out.born_phase = analysis.account.paths.text(one.born_phase);
  out.bytes = static_cast<std::int64_t>(one.bytes);
  out.untouched = static_cast<std::int64_t>(one.untouched);
  out.asked = static_cast<std::int64_t>(one.asked);
  out.blocks = static_cast<std::int64_t>(one.blocks);
  out.sampled = one.sampled;
  return out;
}

void add(std::map<GroupKey, PeakGroup>& groups, const PeakGroup& one) {
  const auto [at, fresh] = groups.try_emplace(key_of(one), one);
  if (fresh) return;
  PeakGroup& to = at->second;
  to.bytes = replay::wrapping_add(to.bytes, one.bytes);
  to.untouched = replay::wrapping_add(to.untouched, one.untouched);
  to.asked = replay::wrapping_add(to.asked, one.asked);
  to.blocks = replay::wrapping_add(to.blocks, one.blocks);
}

// Returns the groups, the largest first. Groups of equal size have the order of their keys.
std::vector<PeakGroup> sorted(const std::map<GroupKey, PeakGroup>& groups) {
  std::vector<PeakGroup> out;
  out.reserve(groups.size());
  for (const auto& [key, group] : groups) out.push_back(group);
  std::stable_sort(out.begin(), out.end(),
                   [](const PeakGroup& a, const PeakGroup& b) { return a.bytes > b.bytes; });
  return out;
}

} // namespace

std::vector<PeakGroup> peak_groups(ProcessAnalysis& analysis, replay::Instant instant,
                                   const replay::Peak& peak) {
  static const replay::Holdings kUnknown; // the events of this peak were dropped
  std::map<GroupKey, PeakGroup> groups, rest;
  std::int64_t told = 0;
  for (const replay::Holding& one : peak.bucket ? kUnknown : analysis.set(instant)) {
    add(groups, group_of(analysis, one));
    told = replay::wrapping_add(told, static_cast<std::int64_t>(one.bytes));
  }
  std::vector<PeakGroup> out = sorted(groups);
  for (std::size_t i = kLargestGroups; i < out.size(); ++i) {
    PeakGroup& one = out[i];
    one.own_line = one.allocated_by = one.born_phase = std::nullopt;
    add(rest, one);
  }
  out.resize(std::min(out.size(), kLargestGroups));
  for (PeakGroup& one : sorted(rest)) out.push_back(std::move(one));
  PeakGroup small; // counted exactly, without a record of each
  small.role = "unknown", small.kind = "heap";
  small.bytes = small.asked = replay::wrapping_sub(peak.bytes, told);
  if (small.bytes != 0 || out.empty()) out.push_back(std::move(small));
  return out;
}

} // namespace memtrace::report
