// Purpose: the memory that a job had for its time, and what of it was never used, in byte-seconds.
#include "analyzer/rss/job_capacity.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "analyzer/rss/headroom.h"

namespace memtrace::report {
namespace {

// Returns the same text for the same GPU in all processes of a host, or its number if it has no identity.
std::string identity_of(const trace::Facts& facts, replay::MemoryId memory) {
  const auto device = facts.devices.find(memory);
  std::string uuid;
  if (device != facts.devices.end())
    for (const std::uint8_t byte : device->second.uuid) uuid += fmt::format("{:02x}", byte);
  return uuid.find_first_not_of('0') != std::string::npos ? uuid : memory_name(memory);
}

// Adds what one more process, or others together, had of a limit.
void merge(CapacityLimit& into, CapacityLimit&& other) {
  into.limit = std::max(into.limit, other.limit);
  into.used = std::max(into.used, other.used);
  if (other.needed) into.needed = std::max(into.needed.value_or(0), *other.needed);
  into.begin = std::min(into.begin, other.begin);
  into.end = std::max(into.end, other.end);
  into.ranks.insert(into.ranks.end(), other.ranks.begin(), other.ranks.end());
  std::sort(into.ranks.begin(), into.ranks.end());
  if (other.cached_seconds) into.cached_seconds = into.cached_seconds.value_or(0) + *other.cached_seconds;
}

} // namespace

void JobCapacity::add(const ProcessAnalysis& analysis) {
  if (analysis.kind == "worker" || analysis.kind == "child") return;
  const trace::Facts& facts = analysis.facts();
  const bool is_rank = facts.rank != trace::kNoRank;
  const double begin = static_cast<double>(facts.start_unix_ns) / 1e9;
  bool has_group = false;
  for (const Headroom& one : headrooms(analysis)) {
    const bool group = one.of == "cgroup";
    if (group && has_group) continue; // the first is the smallest
    if (!group && one.of != "device" && (one.of != "node" || has_group)) continue;
    has_group = has_group || group;
    CapacityLimit limit{
        one.of,     facts.host, one.of == "node" ? "" : one.name,           one.limit, one.used,
        one.needed, begin,      begin + analysis.seconds(facts.last_stamp), {},        std::nullopt};
    if (is_rank) limit.ranks = {facts.rank};
    if (const auto cached = analysis.unused_reserved.find(one.memory); cached != analysis.unused_reserved.end())
      limit.cached_seconds = cached->second;
    const Key key{facts.host, one.of, one.of == "device" ? identity_of(facts, one.memory) : limit.name};
    auto& all = is_rank ? ranks_ : others_;
    const auto [at, fresh] = all.try_emplace(key, limit);
    if (!fresh) merge(at->second, std::move(limit));
  }
}

void JobCapacity::add(JobCapacity&& others) {
  for (auto [to, from] : {std::pair{&ranks_, &others.ranks_}, std::pair{&others_, &others.others_}}) {
    for (auto& [key, limit] : *from) {
      const auto [at, fresh] = to->try_emplace(key, limit);
      if (!fresh) merge(at->second, std::move(limit));
    }
  }
}

// A host whose ranks have a cgroup may also have a rank outside, which shows the machine. It counts once.
std::vector<CapacityLimit> JobCapacity::limits() const {
  std::vector<CapacityLimit> out;
  for (const auto& [key, limit] : ranks_.empty() ? others_ : ranks_) {
    const std::string& host = limit.host;
    const bool has_group = std::any_of(out.begin(), out.end(), [&host](const CapacityLimit& one) {
      return one.host == host && one.of == "cgroup";
    });
    if (limit.of != "node" || !has_group) out.push_back(limit);
  }
  return out;
}

} // namespace memtrace::report
