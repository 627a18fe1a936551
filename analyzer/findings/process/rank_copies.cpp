// Purpose: finds host memory that each rank of a host made for itself, such as a data set or a state dict.
#include "analyzer/findings/process/rank_copies.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "analyzer/explain/block_owner.h"
#include "analyzer/explain/leading_peak.h"
#include "analyzer/explain/thresholds.h"
#include "analyzer/findings/process/rank_list.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using replay::Holding;
using replay::Measure;
using replay::Role;

// Of one line, in each rank. A rank of PyTorch has some 200 MiB before it loads anything, so less would not
// decide whether the ranks fit on a host.
constexpr std::int64_t kLeastPerRank = 64 << 20;
constexpr std::int64_t kEqualPart = 50;       // equal: apart by at most 1 part in 50
constexpr std::size_t kLargestHoldings = 200; // of each rank: the others are too small

// Returns `staging` for a state dict, also if it was freed within the phase that loaded it.
Role role_for_copies(ProcessAnalysis& analysis, const Holding& holding, const symbols::Site& site) {
  const Role role = owner_of(analysis, holding).role;
  return role == Role::temporary && holding.tensor && reads_checkpoint(site) ? Role::staging : role;
}

bool explained(const Holding& holding, const Findings& own) {
  return std::any_of(own.begin(), own.end(), [&](const Finding& one) {
    return one.memory == 0 && (one.site == holding.stack || std::find(one.stacks.begin(), one.stacks.end(),
                                                                      holding.stack) != one.stacks.end());
  });
}

// True if the program kept the blocks for at least half of the time that was left. Other blocks come and go
// with the work of the rank.
bool lasting(const Holding& holding, format::Stamp last) {
  return last <= holding.born_stamp || 2 * holding.lifetime >= last - holding.born_stamp;
}

// True if the rank read the whole model from a checkpoint, and freed it: it trains with a part of it, or on a
// GPU.
bool loaded_and_freed(const Holding& holding, Role role, const symbols::Site& site, format::Stamp last) {
  return role == Role::parameter && holding.tensor && reads_checkpoint(site) && !lasting(holding, last);
}

// True if another rank could have used these blocks, too. False for:
// - roles: parameters that the rank trains with, gradients, optimizer states, master copies, buffers,
// activations, temporaries, batches,
//   workspaces, buffers of collectives. DDP has one of each in each rank, sharded training a part in each;
// - shared memory, which the ranks may share already, and pinned memory, which serves the rank's own GPU;
// - blocks of libraries that no Python line made, and of imports;
// - blocks that did not last, unless they are a state dict, which is freed after the load.
bool copied(const Holding& holding, Role role, const symbols::Site& site, format::Stamp last) {
  const bool freed = loaded_and_freed(holding, role, site, last);
  if (role != Role::unknown && role != Role::staging && !freed) return false;
  if (holding.kind != format::Kind::heap && holding.kind != format::Kind::mmap_anon) return false;
  const bool python = std::any_of(site.frames.begin(), site.frames.end(),
                                  [](const symbols::SiteFrame& frame) { return frame.python; });
  if (!python || !site.import.empty()) return false;
  return role == Role::staging || freed || lasting(holding, last);
}

// A mapping may be mostly untouched, such as the stacks of threads. Other blocks count in full: whether a page
// is resident is seen at different times in each rank.
std::int64_t counted_bytes(const Holding& holding) {
  const auto given = static_cast<std::int64_t>(holding.bytes - std::min(holding.bytes, holding.untouched));
  if (holding.kind != format::Kind::mmap_anon) return given;
  return std::min(given, static_cast<std::int64_t>(holding.resident));
}

} // namespace

// Returns what each line of the program made that another rank could use, too.
std::map<std::string, RankCopies::HeldByRank> RankCopies::held_at(ProcessAnalysis& analysis,
                                                                  const replay::Holdings& alive,
                                                                  const Findings& own) {
  std::map<std::string, HeldByRank> out;
  for (std::size_t i = 0; i < std::min(alive.size(), kLargestHoldings); ++i) {
    const Holding& holding = alive[i];
    if (holding.stack == format::StackId{} || explained(holding, own)) continue;
    const symbols::Site& site = analysis.symbolizer->site(holding.stack);
    const Role role = role_for_copies(analysis, holding, site);
    const format::Stamp last = analysis.facts().last_stamp;
    if (!copied(holding, role, site, last)) continue;
    HeldByRank& held = out[site.line()];
    if (held.site == nullptr) { // the largest
      held.site = symbols::keep(site);
      held.phase = analysis.account.paths.text(holding.born_phase);
      held.model = loaded_and_freed(holding, role, site, last);
      held.checkpoint = role == Role::staging || held.model;
    }
    held.bytes = replay::wrapping_add(held.bytes, counted_bytes(holding));
    held.blocks += holding.blocks;
  }
  return out;
}

void RankCopies::add(ProcessAnalysis& analysis, const Findings& own) {
  const trace::Facts& facts = analysis.facts();
  if (facts.rank == trace::kNoRank || analysis.kind == "worker" || analysis.kind == "child") return;
  const LeadingPeak peak = live_peak(analysis, 0);
  peaks_[facts.host] = replay::wrapping_add(peaks_[facts.host], peak.bytes);
  std::map<std::string, HeldByRank> held = held_at(analysis, alive_at_peak(analysis, peak), own);
  // The ranks may have their peaks at different lines of the program.
  for (auto& [line, at_end] : held_at(analysis, alive_at_end(analysis, peak), own)) {
    HeldByRank& most = held[line];
    if (at_end.bytes > most.bytes) most = std::move(at_end);
  }
  for (auto& [line, one] : held) {
    if (one.bytes < kLeastPerRank) continue;
    one.rank = facts.rank;
    lines_[line][facts.host].push_back(std::move(one));
  }
}

void RankCopies::add(RankCopies&& others) {
  for (const auto& [host, bytes] : others.peaks_) peaks_[host] = replay::wrapping_add(peaks_[host], bytes);
  for (auto& [line, hosts] : others.lines_)
    for (auto& [host, ranks] : hosts)
      std::move(ranks.begin(), ranks.end(), std::back_inserter(lines_[line][host]));
}

// Returns the ranks that hold equally much, those with the most bytes together. At most one if none are alike.
RankCopies::Ranks RankCopies::most_alike(Ranks ranks) {
  std::sort(ranks.begin(), ranks.end(), [](const HeldByRank& a, const HeldByRank& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.rank < b.rank;
  });
  std::size_t from = 0, number = 0;
  std::int64_t most = 0, bytes = 0; // `bytes`: of the ranks from `first` to `last`
  for (std::size_t first = 0, last = 0; last < ranks.size(); ++last) {
    bytes = replay::wrapping_add(bytes, ranks[last].bytes);
    while (ranks[last].bytes - ranks[first].bytes > ranks[last].bytes / kEqualPart)
      bytes = replay::wrapping_sub(bytes, ranks[first++].bytes);
    if (bytes > most) most = bytes, from = first, number = last - first + 1;
  }
  Ranks out(ranks.begin() + static_cast<std::ptrdiff_t>(from),
            ranks.begin() + static_cast<std::ptrdiff_t>(from + number));
  std::sort(out.begin(), out.end(), [](const HeldByRank& a, const HeldByRank& b) { return a.rank < b.rank; });
  return out;
}

JobFinding RankCopies::finding_of(const std::string& line,
                                  const std::vector<std::pair<std::string, Ranks>>& hosts) {
  JobFinding found;
  Finding& finding = found.finding;
  const HeldByRank& first = hosts.front().second.front();
  std::int64_t together = 0;
  std::size_t ranks = 0;
  for (const auto& [host, held] : hosts) {
    const auto [least, most] = std::minmax_element(
        held.begin(), held.end(), [](const HeldByRank& a, const HeldByRank& b) { return a.bytes < b.bytes; });
    std::int64_t sum = 0;
    std::vector<std::uint32_t> numbers;
    for (const HeldByRank& one : held) {
      sum = replay::wrapping_add(sum, one.bytes);
      numbers.push_back(one.rank);
    }
    together = replay::wrapping_add(together, sum);
    finding.bytes = replay::wrapping_add(finding.bytes, replay::wrapping_sub(sum, most->bytes));
    ranks += held.size();
    finding.evidence.push_back(fmt::format("{} to {} bytes in each of ranks {} of host {}, made at {}",
                                           least->bytes, most->bytes, rank_list(numbers), host, line));
  }
  finding.evidence.push_back("the data of the ranks are not compared");
  found.site = first.site;
  finding.id = "rank-copies";
  finding.phase = first.phase;
  finding.certain = false; // the trace does not show that the content is the same in each
  finding.bytes_at_peak = finding.bytes_at_end = finding.bytes;
  finding.title =
      fmt::format("{}: {} in each of {} ranks, {} together", line, size(first.bytes), ranks, size(together));
  if (hosts.size() > 1) finding.title += fmt::format(" on {} hosts", hosts.size());
  finding.sentences = {
      fmt::format("The ranks of a host made the same size at the same line, so {} may be copies.",
                  size(finding.bytes)),
      "The data are not compared: if each rank holds a part of its own, nothing is held twice."};
  if (first.model)
    finding.sentences.push_back(
        "Each rank freed the model that it had loaded: it keeps a part of it, or has it on its GPU.");
  finding.remedy =
      first.checkpoint
          ? "torch.load(file, mmap=True), so that the ranks of a host share its pages; or load it in rank 0 "
            "alone, build the model under torch.device(\"meta\") in the others, and broadcast"
          : "load it in one rank of each host and share it: a file that the ranks map "
            "(numpy.load(file, mmap_mode=\"r\"), torch.load(file, mmap=True)), or a tensor in shared memory";
  finding.remedy += fmt::format(": -{}", size(finding.bytes));
  finding.no_remedy = "a smaller batch: the ranks hold this besides their batches";
  return found;
}

void RankCopies::find(std::vector<JobFinding>& out) const {
  for (const auto& [line, hosts] : lines_) {
    std::vector<std::pair<std::string, Ranks>> alike;
    for (const auto& [host, ranks] : hosts) {
      Ranks some = most_alike(ranks);
      if (some.size() < 2) continue;
      std::int64_t saved = 0;
      for (std::size_t i = 1; i < some.size(); ++i) saved = replay::wrapping_add(saved, some.front().bytes);
      if (worthwhile(saved, peaks_.at(host))) alike.emplace_back(host, std::move(some));
    }
    if (!alike.empty()) out.push_back(finding_of(line, alike));
  }
}

} // namespace memtrace::report
