// Purpose: divides the resident memory of a process into measured rows, with the kernel's total and the
// residual.
#include "analyzer/rss/rss_ledger.h"

#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/job/evidence_query.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

// Sets the residual: the total less the rows. A damaged trace may have any rows, so the sum is modulo 2^64.
void close(RssLedger& ledger) {
  std::uint64_t told = 0;
  for (const RssRow& row : ledger.rows) told += row.bytes;
  ledger.residual = static_cast<std::int64_t>(ledger.total - told);
  std::stable_sort(ledger.rows.begin(), ledger.rows.end(),
                   [](const RssRow& a, const RssRow& b) { return a.bytes > b.bytes; });
}

RssLedger of_process(const ProcessAnalysis& analysis, const trace::ProcessLedger& taken, const char* at) {
  RssLedger out;
  out.scope = "process";
  out.at = at;
  out.t = analysis.seconds(taken.stamp);
  out.total = taken.total;
  out.high_water = analysis.account.ledgers.high_water();
  for (std::size_t i = 0; i < taken.rows.size(); ++i) {
    if (!taken.rows[i]) continue;
    const trace::LedgerBytes& amount = *taken.rows[i];
    RssRow row{format::kLedgerRowNames[i], amount.resident, amount.sampled, std::nullopt, std::nullopt};
    if (amount.given != 0) row.given = amount.given;
    if (amount.parts != 0) row.parts = amount.parts;
    out.rows.push_back(std::move(row));
  }
  if (const auto& huge = taken.rows[static_cast<std::size_t>(format::LedgerRow::huge)];
      huge && huge->resident) {
    out.total += huge->resident; // modulo 2^64, like the rows
    out.high_water += huge->resident;
    out.remarks.push_back(
        fmt::format("{} of huge pages of the pool are in no RSS: they were added to VmRSS and VmHWM here",
                    sized(huge->resident)));
  }
  if (analysis.facts().before)
    out.remarks.push_back("large blocks from before recording began have no row of their own");
  out.swap = taken.swap;
  if (taken.swap != 0)
    out.remarks.push_back(
        fmt::format("{} more of the process are in swap (VmSwap): they are in no row", sized(taken.swap)));
  if (!taken.allocator_asked)
    out.remarks.push_back(
        "what the allocator keeps is not known: it has no call that tells, or no thread of the program came by "
        "that could ask it");
  if (taken.drift > taken.total / 200)
    out.remarks.push_back(fmt::format("{} came or went while it was taken, or since the allocator was asked",
                                      sized(taken.drift)));
  close(out);
  return out;
}

// Returns the ledger at the highest moment. If the allocator gave no answer then, the rows do not add up: what
// it retains is in none of them. They do not add up either if much came or went meanwhile. Then returns the
// highest ledger that adds up, and says so.
RssLedger of_highest_moment(const ProcessAnalysis& analysis, const trace::Ledgers& taken) {
  const trace::ProcessLedger& highest = *taken.highest();
  const trace::ProcessLedger* const closed = taken.highest_closed();
  if (highest.closes() || closed == nullptr || closed->total < highest.total / 2)
    return of_process(analysis, highest, "peak_rss");
  RssLedger out = of_process(analysis, *closed, "peak_rss");
  const char* const why = highest.allocator_asked ? "the rows do not add up, because memory came or went"
                                                  : "the allocator did not answer how much it retains";
  out.remarks.insert(
      out.remarks.begin(),
      fmt::format("This ledger is of {:.1f} s. At the highest moment, {:.1f} s, RSS was {} higher and {}.",
                  out.t, analysis.seconds(highest.stamp),
                  sized(highest.total - std::min(highest.total, closed->total)), why));
  return out;
}

// Returns what the row of retained memory means where it is large: no line of the program has it.
std::string retained_remark(const RssLedger& ledger) {
  constexpr std::uint64_t kLeast = 64 << 20; // bytes
  constexpr std::uint64_t kLeastPart = 10;   // 1/10 of what is resident
  const std::string name = format::kLedgerRowNames[static_cast<std::size_t>(format::LedgerRow::kept)];
  for (const RssRow& row : ledger.rows)
    if (row.name == name && row.bytes >= kLeast && row.bytes >= ledger.total / kLeastPart)
      return fmt::format(
          "The program freed the {} kept by the allocator, so no line has them. They are {:.0f} % of "
          "RSS, and new blocks can reuse them.",
          sized(row.bytes), 100 * static_cast<double>(row.bytes) / static_cast<double>(ledger.total));
  return "";
}

// Returns the ledger that stands for the peak of RSS. Says so if the peak came and went between two ledgers.
RssLedger at_peak(const ProcessAnalysis& analysis, const trace::Ledgers& taken) {
  constexpr std::uint64_t kRemarkFrom = 50; // 2 %: a smaller difference needs no remark
  RssLedger out = of_highest_moment(analysis, taken);
  if (const std::string retained = retained_remark(out); !retained.empty()) out.remarks.push_back(retained);
  const std::uint64_t highest = taken.highest()->total, high_water = taken.high_water();
  if (highest < high_water && high_water - highest > high_water / kRemarkFrom)
    out.remarks.push_back(
        fmt::format("RSS was up to {} higher at its peak (VmHWM {}). memtrace took no ledger then",
                    sized(out.high_water - out.total), sized(out.high_water)));
  return out;
}

void add_rows(RssLedger& ledger, std::initializer_list<std::pair<const char*, std::uint64_t>> rows) {
  for (const auto& [name, bytes] : rows)
    if (bytes != 0) ledger.rows.push_back({name, bytes, false, std::nullopt, std::nullopt});
}

// Returns the cgroup with the smallest limit, or the process's own if no cgroup has a limit. Null: none was
// sampled.
const trace::SampledCgroup* group_of(const std::vector<trace::SampledCgroup>& groups) {
  const trace::SampledCgroup* found = nullptr;
  for (const trace::SampledCgroup& group : groups) {
    if (group.left || !group.highest) continue;
    if (found == nullptr || group.highest->limit < found->highest->limit) found = &group;
  }
  return found;
}

// Returns the ledger of a cgroup from the kernel's figures of one moment. They include all its processes,
// traced or not.
RssLedger of_group(const ProcessAnalysis& analysis, const trace::SampledCgroup& group) {
  const trace::GroupSample& highest = *group.highest;
  const auto known = [](std::uint64_t value) { return value == trace::kNotSaid ? 0 : value; };
  const std::uint64_t shared = std::min(known(highest.shmem), highest.file);
  const std::uint64_t dirty = std::min(known(highest.dirty), highest.file - shared);
  const std::uint64_t tables = std::min(known(highest.page_tables), known(highest.kernel));
  RssLedger out;
  out.scope = "cgroup";
  out.at = "peak_rss";
  out.of = kernels_path(analysis.trace->definitions().text(group.path));
  out.t = analysis.seconds(highest.stamp);
  out.total = highest.charge;
  out.high_water = group.limits && group.limits->highest != trace::kNotSaid ? group.limits->highest : out.total;
  add_rows(out, {{"anonymous memory", highest.anon},
                 {"page cache, clean", highest.file - shared - dirty},
                 {"page cache, to be written", dirty},
                 {"shared memory", shared},
                 {"page tables", tables},
                 {"kernel, all else", known(highest.kernel) - tables}});
  if (highest.swap != trace::kNotSaid) out.swap = highest.swap;
  out.nodes = analysis.trace->samples().numa();
  close(out);
  return out;
}

// Returns the ledger of the machine: all its processes and its kernel. Pages that drivers took one by one are
// in none of the kernel's figures.
RssLedger of_node(const ProcessAnalysis& analysis, const trace::NodeSample& sample) {
  const std::uint64_t shared = std::min(sample.shmem, sample.cache);
  const std::uint64_t dirty = std::min(sample.dirty, sample.cache - shared);
  RssLedger out;
  out.scope = "node";
  out.at = "peak_rss";
  out.of = analysis.facts().host;
  out.t = analysis.seconds(sample.stamp);
  out.total = out.high_water = sample.total - std::min(sample.free, sample.total);
  add_rows(out, {{"anonymous memory", sample.anonymous},
                 {"page cache, clean", sample.cache - shared - dirty},
                 {"page cache, to be written", dirty},
                 {"shared memory", shared},
                 {"hugetlb", sample.hugetlb},
                 {"page tables", sample.page_tables},
                 {"kernel, all else", sample.kernel}});
  const auto& machine = analysis.trace->samples().machine();
  if (machine && machine->swap_total != trace::kNotSaid && machine->swap_free <= machine->swap_total)
    out.swap = machine->swap_total - machine->swap_free;
  close(out);
  return out;
}

} // namespace

std::vector<RssLedger> ledgers(const ProcessAnalysis& analysis) {
  std::vector<RssLedger> out;
  const trace::Ledgers& taken = analysis.account.ledgers;
  if (taken.highest()) out.push_back(at_peak(analysis, taken));
  if (taken.last()) out.push_back(of_process(analysis, *taken.last(), analysis.death ? "death" : "end"));
  if (const trace::SampledCgroup* const group = group_of(analysis.trace->samples().groups()); group != nullptr)
    out.push_back(of_group(analysis, *group));
  if (const auto& node = analysis.trace->samples().fullest_node()) out.push_back(of_node(analysis, *node));
  return out;
}

std::uint64_t highest_resident(const ProcessAnalysis& analysis) {
  const trace::Ledgers& taken = analysis.account.ledgers;
  const auto sampled = analysis.account.rss ? static_cast<std::uint64_t>(analysis.account.rss->bytes) : 0;
  if (!taken.highest()) return std::max(sampled, taken.high_water());
  const RssLedger ledger = at_peak(analysis, taken);
  return std::max({sampled, ledger.total, ledger.high_water});
}

} // namespace memtrace::report
