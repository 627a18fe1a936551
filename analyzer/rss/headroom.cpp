// Purpose: how much of each memory limit the program needed, used and never used.
#include "analyzer/rss/headroom.h"

#include "analyzer/job/evidence_query.h"
#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::report {
namespace {

using trace::kNotSaid;

// Returns the limit of a cgroup: memory.high if it is below memory.max, because memory.high delays first.
std::uint64_t limit_of(const trace::SampledCgroup& group) {
  const std::uint64_t high = group.limits ? group.limits->high : kNotSaid;
  return std::min(high, group.last ? group.last->limit : kNotSaid);
}

// Returns the highest charge while the program ran. The kernel's record covers the whole life of the cgroup, so
// it counts only if it rose while the program ran.
std::uint64_t highest_charge(const trace::SampledCgroup& group) {
  const std::uint64_t sampled = group.highest->charge;
  if (!group.limits || !group.first_limits || group.limits->highest == kNotSaid) return sampled;
  const bool rose = group.limits->highest > group.first_limits->highest;
  return rose ? std::max(sampled, group.limits->highest) : sampled;
}

void add_groups(const ProcessAnalysis& analysis, std::vector<Headroom>& out) {
  for (const trace::SampledCgroup& group : analysis.trace->samples().groups()) {
    if (group.left || !group.highest || limit_of(group) == kNotSaid) continue;
    Headroom one;
    one.of = "cgroup";
    one.name = kernels_path(analysis.trace->definitions().text(group.path));
    one.limit = limit_of(group);
    one.soft = group.last && one.limit < group.last->limit;
    one.used = highest_charge(group);
    if (group.fullest) one.needed = group.fullest->held();
    out.push_back(std::move(one));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Headroom& a, const Headroom& b) { return a.limit < b.limit; });
}

// Adds a limit of the process's own. All of an address space counts, whether it is in memory or not.
void add_own(const char* of, std::uint64_t limit, std::uint64_t used, std::vector<Headroom>& out) {
  if (limit == kNotSaid) return;
  out.push_back({of, "", 0, limit, used, used, false});
}

void add_node(const ProcessAnalysis& analysis, std::vector<Headroom>& out) {
  const trace::Samples& samples = analysis.trace->samples();
  const auto& fullest = samples.node_with_least_free();
  if (!fullest) return;
  Headroom one{"node", analysis.facts().host, 0, fullest->total, std::nullopt, 0, false};
  one.used = fullest->total - std::min(fullest->free, fullest->total);
  if (const auto& scarcest = samples.scarcest_machine(); scarcest && scarcest->available != kNotSaid)
    one.needed = one.limit - std::min(one.limit, scarcest->available);
  out.push_back(std::move(one));
}

// A framework's allocator returns its cache to the driver before an allocation fails, so the cache is not
// needed.
void add_devices(const ProcessAnalysis& analysis, std::vector<Headroom>& out) {
  for (const auto& [memory, gpu] : analysis.account.device_usage) {
    if (gpu.total == kNotSaid || !gpu.peak || gpu.peak->bytes < 0) continue;
    const auto shown = static_cast<std::uint64_t>(gpu.peak->bytes);
    Headroom one{"device", memory_name(memory), memory, gpu.total, std::nullopt, shown, false};
    if (gpu.gpu != kNotSaid) one.used = std::max(shown, gpu.gpu);
    const auto peaks = analysis.account.peaks.find(memory);
    if (peaks != analysis.account.peaks.end() && peaks->second.reserved) {
      const std::int64_t cached =
          replay::wrapping_sub(peaks->second.reserved->bytes, peaks->second.tensor.bytes);
      one.needed = one.used - std::min(one.used, static_cast<std::uint64_t>(std::max<std::int64_t>(cached, 0)));
    }
    out.push_back(std::move(one));
  }
}

} // namespace

std::vector<Headroom> headrooms(const ProcessAnalysis& analysis) {
  std::vector<Headroom> out;
  add_groups(analysis, out);
  const trace::Samples& samples = analysis.trace->samples();
  if (const auto& space = samples.largest_space())
    add_own("address_space", space->size_limit, space->size, out);
  if (const auto& data = samples.largest_data()) add_own("data", data->data_limit, data->data, out);
  add_node(analysis, out);
  add_devices(analysis, out);
  return out;
}

} // namespace memtrace::report
