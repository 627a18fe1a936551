// Purpose: groups the blocks alive at one instant by what they are and by the user's line that made them.
#include "analyzer/explain/holder_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analyzer/explain/after_training.h"
#include "analyzer/explain/block_owner.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/labels.h"

namespace memtrace::report {
namespace {

using replay::Holding;
using replay::Step;

struct HolderKey {
  std::string use, line, import, site, phase;
  replay::Role role = replay::Role::unknown;
  bool sampled = false;
  bool left = false;
  bool operator<(const HolderKey& other) const {
    const auto all = [](const HolderKey& key) {
      return std::tie(key.use, key.line, key.import, key.site, key.phase, key.role, key.sampled, key.left);
    };
    return all(*this) < all(other);
  }
};

struct HolderSum {
  std::int64_t bytes = 0;
  std::uint64_t blocks = 0;
  std::uint64_t largest = 0;
  std::uint64_t as_large = 0;
  double variance = 0;
  format::Stamp born = ~format::Stamp{0};
  std::set<Step> steps;
  std::map<std::string, std::int64_t> allocators; // bytes

  void add(const Holding& holding, const std::string& allocator) {
    const auto more = static_cast<std::int64_t>(holding.bytes - holding.untouched);
    bytes = replay::wrapping_add(bytes, more);
    blocks += holding.blocks;
    variance += static_cast<double>(holding.error) * static_cast<double>(holding.error);
    born = std::min(born, holding.born_stamp);
    steps.insert(holding.born_step);
    std::int64_t& of = allocators[allocator];
    of = replay::wrapping_add(of, more);
    if (holding.sampled || holding.untouched != 0 || holding.largest < std::max<std::uint64_t>(largest, 1))
      return;
    const bool all_alike =
        holding.bytes / holding.largest == holding.blocks && holding.bytes % holding.largest == 0;
    as_large = (holding.largest == largest ? as_large : 0) + (all_alike ? holding.blocks : 1);
    largest = holding.largest;
  }
};

// Returns "torch.zeros_like adam.py:178" or "pandas/core/frame.py:761", without what the user's line says.
std::string allocator_of(const symbols::Site& site) {
  if (site.where == site.own_line) return site.op;
  return site.op.empty() ? site.where : site.op + " " + site.where.substr(site.where.rfind('/') + 1);
}

// Returns "import of torch" for all that an import allocates: its modules are many, and their lines say little.
std::string allocator_by_line(const symbols::Site& site) {
  return site.import.empty() ? allocator_of(site) : site.import;
}

// Returns 'NCCL, group "tp" (ranks 0-3)' for memory of a communicator whose group is known; else "". NCCL's
// threads take the memory of all groups by the same stack.
std::string communicator_of(const ProcessAnalysis& analysis, const Holding& holding) {
  const bool labelled =
      !holding.tensor && holding.role == replay::Role::comm && holding.name != format::TextId{};
  return labelled ? analysis.trace->definitions().text(holding.name) : "";
}

HolderRow row_of(const HolderKey& key, HolderSum& sum) {
  HolderRow out;
  out.bytes = sum.bytes;
  out.blocks = sum.blocks;
  out.largest = sum.largest;
  out.as_large = sum.as_large;
  out.use = key.use;
  out.role = key.role;
  out.line = key.line;
  out.import = key.import;
  out.phase = key.phase;
  out.sampled = key.sampled;
  out.left = key.left;
  out.variance = sum.variance;
  out.sites = sum.allocators.size();
  std::vector<std::pair<std::int64_t, std::string>> largest;
  for (const auto& [allocator, bytes] : sum.allocators) largest.emplace_back(bytes, allocator);
  std::stable_sort(largest.begin(), largest.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  out.allocator = largest.front().second;
  if (largest.size() > 1 && largest[1].first >= sum.bytes / 4) out.next_allocator = largest[1].second;
  sum.steps.erase(Step::none);
  out.steps = sum.steps.size();
  if (sum.steps.empty()) return out;
  out.first = *sum.steps.begin();
  out.last = *sum.steps.rbegin();
  return out;
}

} // namespace

std::vector<HolderRow> holder_rows(ProcessAnalysis& analysis, const replay::Holdings& alive,
                                   HolderDetail detail, Step now) {
  // Names cost time, and stacks after the first 400 hold little. A leak has one holding for each step, so
  // stacks are counted, not holdings.
  constexpr std::size_t kNamed = 400;
  std::map<HolderKey, HolderSum> sums;
  std::set<format::StackId> named;
  for (const Holding& holding : alive) {
    if (holding.untouched != 0 && holding.untouched == holding.bytes) continue;
    const BlockOwner owner = owner_of(analysis, holding);
    HolderKey key{.use = use_of(owner, holding),
                  .line = "",
                  .import = "",
                  .site = "",
                  .phase = analysis.account.paths.text(holding.born_phase),
                  .role = owner.role,
                  .sampled = holding.sampled,
                  .left = holding.born_step != Step::none && holding.born_step < now};
    std::string allocator;
    if (holding.stack != format::StackId{} && named.size() < kNamed) named.insert(holding.stack);
    if (named.contains(holding.stack)) {
      const symbols::Site& site = analysis.symbolizer->site(holding.stack);
      allocator = detail == HolderDetail::by_line ? allocator_by_line(site) : allocator_of(site);
      key.line = site.own_line;
      if (detail == HolderDetail::by_line) key.import = site.import;
      if (detail == HolderDetail::by_site || key.line.empty()) key.site = allocator;
    } else if (holding.stack != format::StackId{}) {
      allocator = key.site = "small sites, not named";
    }
    if (const std::string communicator = communicator_of(analysis, holding); !communicator.empty())
      allocator = key.site = communicator;
    sums[key].add(holding, allocator);
  }
  std::vector<HolderRow> out;
  out.reserve(sums.size());
  for (auto& [key, sum] : sums) {
    out.push_back(row_of(key, sum));
    out.back().born_at = analysis.seconds(sum.born);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const HolderRow& a, const HolderRow& b) { return a.bytes > b.bytes; });
  return out;
}

std::string few_blocks(const HolderRow& row, const Unit& unit) {
  if (row.sampled || row.blocks < 2 || row.blocks > kFewBlocks) return "";
  const double alike = static_cast<double>(row.largest) * static_cast<double>(row.as_large);
  if (row.as_large < 2 || alike < 0.9 * static_cast<double>(row.bytes)) return count(row.blocks) + " blocks";
  return fmt::format("{} x {}{}", row.as_large, in_unit(static_cast<std::int64_t>(row.largest), unit),
                     row.as_large == row.blocks ? "" : " and smaller");
}

std::vector<HolderRow> with_small_sites_joined(const std::vector<HolderRow>& rows, std::int64_t least) {
  std::vector<HolderRow> out;
  std::map<HolderKey, HolderRow> joined;
  for (const HolderRow& row : rows) { // the largest first: it names the site
    if (row.bytes >= least) {
      out.push_back(row);
      continue;
    }
    const HolderKey key{.use = row.use,
                        .line = row.line,
                        .import = row.import,
                        .site = "",
                        .phase = row.phase,
                        .role = row.role,
                        .sampled = row.sampled,
                        .left = row.left};
    const auto [at, fresh] = joined.try_emplace(key, row);
    if (!fresh) at->second.join(row);
  }
  for (const auto& [key, row] : joined) out.push_back(row);
  std::stable_sort(out.begin(), out.end(),
                   [](const HolderRow& a, const HolderRow& b) { return a.bytes > b.bytes; });
  return out;
}

void HolderRow::join(const HolderRow& other) {
  bytes = replay::wrapping_add(bytes, other.bytes);
  blocks += other.blocks;
  as_large = largest == other.largest  ? as_large + other.as_large
             : largest > other.largest ? as_large
                                       : other.as_large;
  largest = std::max(largest, other.largest);
  sites += other.sites;
  born_at = std::min(born_at, other.born_at);
  variance += other.variance;
  steps = std::max(steps, other.steps);
  if (other.first == Step::none) return;
  first = first == Step::none ? other.first : std::min(first, other.first);
  last = std::max(last, other.last);
}

std::string line_and_allocator(const symbols::Site& site) {
  const std::string allocator = allocator_of(site);
  return site.own_line + (site.own_line.empty() || allocator.empty() ? "" : " ") + allocator;
}

std::string since(const std::string& phase, Step first, Step last, Step after_training) {
  const std::string words = phase != "other" ? phase_words(phase) : first == Step::none ? "" : "step";
  const bool to_the_end = last != Step::none && last == after_training;
  if (first == last)
    return to_the_end ? when(phase == "other" ? "after step" : words + " after", last_of_training(last))
                      : when(words, first);
  return fmt::format("{} {} to {}", words, static_cast<std::int64_t>(first),
                     to_the_end ? "end" : std::to_string(static_cast<std::int64_t>(last)));
}
std::string since(const HolderRow& row, Step after_training) {
  if (row.phase == "other" && row.first == Step::none) return fmt::format("{:.1f} s", row.born_at);
  return since(row.phase, row.first, row.last, after_training);
}

} // namespace memtrace::report
