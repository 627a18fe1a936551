// Purpose: finds the site whose births begin the cycles of a program that repeats itself.
#include "analyzer/passes/repeated_sites.h"

#include <algorithm>

namespace memtrace::replay {
namespace {

constexpr std::size_t kMostKept = 64;      // births of a site
constexpr std::uint64_t kTailPart = 4;     // what follows the last cycle is at most this part
constexpr std::uint64_t kLeastShare = 16;  // the sites of the loop allocate at least this part
constexpr std::uint64_t kCountSpread = 32; // counts of the sites of one loop differ by at most this part

} // namespace

void RepeatedSites::born(SiteKey key, std::uint64_t bytes, bool in_python) {
  const auto known = sites_.find(key);
  if (known != sites_.end() || sites_.size() < kMostSites)
    count(known != sites_.end() ? known->second : sites_[key], bytes, in_python);
  ++all_.births;
  all_.bytes += bytes;
}

void RepeatedSites::count(SiteBirths& site, std::uint64_t bytes, bool in_python) {
  site.in_python = in_python;
  if (site.count % site.every == 0) {
    if (site.at.size() == kMostKept) {
      for (std::size_t i = 0; 2 * i < site.at.size(); ++i) site.at[i] = site.at[2 * i];
      site.at.resize(kMostKept / 2);
      site.every *= 2;
    }
    if (site.count % site.every == 0) site.at.push_back(all_);
  }
  site.last = all_;
  ++site.count;
  site.bytes += bytes;
}

bool RepeatedSites::is_even(const std::vector<Flow>& at, std::uint64_t Flow::*measure) {
  std::size_t even = 0;
  std::size_t pairs = 0;
  for (std::size_t i = 2; i < at.size(); ++i, ++pairs) {
    const std::uint64_t before = at[i - 1].*measure - at[i - 2].*measure;
    const std::uint64_t after = at[i].*measure - at[i - 1].*measure;
    if (std::max(before, after) / 2 <= std::min(before, after)) ++even;
  }
  return 4 * even >= 3 * pairs;
}

// True if `a` is the better anchor: one in Python, else the one that was first.
bool RepeatedSites::is_better_anchor(const SiteBirths& a, const SiteBirths& b) {
  return a.in_python != b.in_python ? a.in_python : a.at.front().births < b.at.front().births;
}

bool RepeatedSites::recurs(const SiteBirths& site) const {
  if (site.count < kFewestCycles || site.count > kMostCycles) return false;
  const Flow& first = site.at.front();
  for (const auto measure : {&Flow::births, &Flow::bytes})
    if (all_.*measure - site.last.*measure > (site.last.*measure - first.*measure) / kTailPart) return false;
  if ((site.last.bytes - first.bytes) / (site.count - 1) < kLeastPerCycle) return false;
  return is_even(site.at, &Flow::births) || is_even(site.at, &Flow::bytes);
}

std::optional<RepeatedSites::SiteKey> RepeatedSites::anchor() const {
  struct Candidate {
    const SiteBirths* site;
    SiteKey key;
  };
  std::vector<Candidate> candidates;
  for (const auto& [key, site] : sites_)
    if (recurs(site)) candidates.push_back({&site, key});
  // A birth is before all others, so the order does not depend on keys.
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.site->count != b.site->count ? a.site->count < b.site->count
                                          : a.site->at.front().births < b.site->at.front().births;
  });
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::uint64_t fewest = candidates[i].site->count;
    const Candidate* first = &candidates[i];
    std::uint64_t bytes = 0;
    for (std::size_t j = i; j < candidates.size(); ++j) {
      const SiteBirths& site = *candidates[j].site;
      if (site.count > fewest + fewest / kCountSpread + 1) break;
      bytes += site.bytes;
      if (is_better_anchor(site, *first->site)) first = &candidates[j];
    }
    if (bytes >= (all_.bytes - first->site->at.front().bytes) / kLeastShare) return first->key;
  }
  return std::nullopt;
}

} // namespace memtrace::replay
