// Purpose: finds a host of a job whose memory, page cache or shared memory differs from those of the other
// hosts.
#include "analyzer/rss/host_outliers.h"

#include <algorithm>

#include "analyzer/replay/percentile.h"

namespace memtrace::report {
namespace {

constexpr std::int64_t kPart = 10;

} // namespace

void Hosts::add(const trace::Facts& facts, const trace::Samples& samples) {
  HostFigures& host = hosts_[facts.host];
  if (const auto& node = samples.fullest_node()) {
    std::uint64_t memory = node->total;
    for (const trace::SampledCgroup& group : samples.groups())
      if (!group.left && group.highest) memory = std::min(memory, group.highest->limit);
    const std::uint64_t cache = node->cache - std::min(node->cache, node->shmem);
    const auto known = static_cast<std::int64_t>(memory);
    host.memory = host.memory == 0 ? known : std::min(host.memory, known);
    host.cache = std::max(host.cache, static_cast<std::int64_t>(cache));
    host.shared = std::max(host.shared, static_cast<std::int64_t>(node->shmem));
  }
  if (facts.rank != trace::kNoRank) host.ranks.push_back(facts.rank);
}

void Hosts::compare(const char* what, std::int64_t HostFigures::*figure, bool less,
                    std::vector<HostOutlier>& out) const {
  for (const auto& [name, host] : hosts_) {
    std::vector<std::int64_t> others;
    for (const auto& [other_name, other] : hosts_)
      if (other_name != name && other.memory != 0) others.push_back(other.*figure);
    if (host.memory == 0 || others.empty()) continue;
    const std::int64_t median = replay::median(others);
    const std::int64_t apart = less ? median - host.*figure : host.*figure - median;
    if (apart < (less ? median : host.memory) / kPart) continue;
    HostOutlier found{name, what, host.*figure, median, others.size(), host.ranks};
    std::sort(found.ranks.begin(), found.ranks.end());
    found.ranks.erase(std::unique(found.ranks.begin(), found.ranks.end()), found.ranks.end());
    out.push_back(std::move(found));
  }
}

std::vector<HostOutlier> Hosts::outliers() const {
  std::vector<HostOutlier> out;
  compare("memory", &HostFigures::memory, true, out);
  compare("page cache", &HostFigures::cache, false, out);
  compare("shared memory", &HostFigures::shared, false, out);
  std::stable_sort(out.begin(), out.end(),
                   [](const HostOutlier& a, const HostOutlier& b) { return a.host < b.host; });
  return out;
}

} // namespace memtrace::report
