// Purpose: the limits of a process that runs, and how much of each is used now.
#include "analyzer/live/limits_now.h"

#include <algorithm>

#include "analyzer/job/evidence_query.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::live {
namespace {

using trace::kNotSaid;
using LiveLimitKind = LimitNow::LiveLimitKind;

// The most that the late samples have, so that the peaks of steps count.
void add_groups(const trace::FollowedTrace& trace, std::vector<LimitNow>& out) {
  for (const trace::SampledCgroup& group : trace.samples().groups()) {
    if (group.left || !group.last) continue;
    const std::uint64_t high = group.limits ? group.limits->high : kNotSaid;
    LimitNow one;
    one.limit = std::min(high, group.last->limit);
    if (one.limit == kNotSaid) continue;
    one.soft = one.limit < group.last->limit;
    one.name = "cgroup " + report::printable(report::kernels_path(trace.definitions().text(group.path)));
    one.host = trace.facts().host;
    for (const trace::GroupSample& sample : group.late) one.used = std::max(one.used, sample.held());
    out.push_back(std::move(one));
  }
}

void add_own(const trace::Samples& samples, std::vector<LimitNow>& out) {
  if (samples.address_spaces().empty()) return;
  const trace::AddressSpace& space = samples.address_spaces().back();
  if (space.size_limit != kNotSaid)
    out.push_back({LiveLimitKind::address_space, "RLIMIT_AS", "", 0, space.size, space.size_limit, false, 0,
                   std::nullopt});
  if (space.data_limit != kNotSaid)
    out.push_back(
        {LiveLimitKind::data, "RLIMIT_DATA", "", 0, space.data, space.data_limit, false, 0, std::nullopt});
}

void add_machine(const trace::FollowedTrace& trace, std::vector<LimitNow>& out) {
  const auto& machine = trace.samples().machine();
  if (!machine || machine->total == kNotSaid || machine->available == kNotSaid) return;
  out.push_back({LiveLimitKind::machine, "machine", trace.facts().host, 0,
                 machine->total - std::min(machine->available, machine->total), machine->total, false, 0,
                 std::nullopt});
}

void add_devices(const trace::FollowedTrace& trace, const std::vector<MemoryNow>& memories,
                 std::vector<LimitNow>& out) {
  for (const MemoryNow& memory : memories) {
    const auto device = trace.facts().devices.find(memory.memory);
    if (memory.memory == 0 || device == trace.facts().devices.end() || device->second.total == 0) continue;
    out.push_back({LiveLimitKind::device, memory.name, "", memory.memory, memory.used, device->second.total,
                   false, 0, std::nullopt});
  }
}

} // namespace

std::vector<LimitNow> limits_now(const trace::FollowedTrace& trace, const std::vector<MemoryNow>& memories) {
  std::vector<LimitNow> out;
  add_groups(trace, out);
  add_own(trace.samples(), out);
  add_machine(trace, out);
  add_devices(trace, memories, out);
  return out;
}

} // namespace memtrace::live
