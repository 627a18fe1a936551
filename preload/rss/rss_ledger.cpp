// Purpose: the resident memory of this process by its use: the rows of its ledger. No row is made by
// subtraction.
// Runs: on the background thread.
//
// /proc/self/maps distinguishes the mappings of files, stacks and libraries; the page tables give their
// resident parts. The rest is anonymous. The kernel merges neighbouring anonymous mappings, so the ranges that
// memtrace knows distinguish them: blocks of the program, arenas of Python, memtrace's own memory. All of a
// range but its holes is resident. Anonymous pages outside all ranges are the residual, which the ledger does
// not explain.
#include "preload/rss/rss_ledger.h"

#include "preload/kernel/look_budget.h"
#include "preload/kernel/page_residency.h"
#include "preload/kernel/proc_maps.h"
#include "preload/kernel/statm.h"
#include "preload/record/live_levels.h"
#include "preload/ring/ring.h"
#include "preload/rss/anonymous_rows.h"
#include "preload/rss/inherited_ranges.h"
#include "preload/rss/named_mappings.h"
#include "preload/rss/retained_memory.h"

namespace memtrace::record {

using format::LedgerRow;

namespace {

constinit std::uint64_t of_files = 0; // bytes in RSS, read together with the total

constinit bool zeros_were_read = false;
constexpr std::uint64_t kZerosOfTotal = 400; // 1 part may have changed meanwhile
constexpr std::uint64_t kFewZeros = 256 * 1024;

std::uint64_t distance(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : b - a;
}

std::uint64_t zeros_matter(std::uint64_t resident) {
  return resident / kZerosOfTotal > kFewZeros ? resident / kZerosOfTotal : kFewZeros;
}

// True if more pages are resident than the kernel counted before or since: some may have been read and never
// written to. Then the walk is repeated with PAGEMAP_SCAN, which counts such pages. It costs five times as much
// as mincore (decision 0016).
bool zeros_may_be(std::uint64_t anonymous, const Statm& before) {
  const Statm now = statm();
  const std::uint64_t counted = now.resident - now.shared, then = before.resident - before.shared;
  return anonymous > (counted > then ? counted : then) + zeros_matter(now.resident);
}

// A walk over the mappings, which may take several turns.
struct LedgerWalk {
  MapsReader maps;
  Mapping mapping;
  bool in_mapping; // the walk is inside `mapping`
  AnonymousRows sum;
  Statm before;
  std::int64_t flows;
  std::uint64_t zeros;
  unsigned turns;
};
constinit LedgerWalk walk{};
constexpr unsigned kTimeEach = 16; // mappings between two checks of the time; a check costs a tenth of one

void begin_walk(Residents* out) {
  walk.before = statm();
  walk.flows = flows_since_fork();
  *out = {};
  walk.maps.open();
  walk.in_mapping = false;
  walk.sum.begin_walk(zeros_were_read);
  walk.zeros = 0;
  walk.turns = 0;
}

// True if all resident pages of the mapping are known.
bool look_at_mapping(Pages& pages, const Turn& turn, Residents* out) {
  const Mapping& one = walk.mapping;
  const bool anonymous = is_anonymous(one);
  if (anonymous && !one.readable) walk.sum.closed_mapping(one);
  if (!anonymous || !one.readable || one.shared) return true;
  return walk.sum.anonymous_mapping(one, pages, turn, out);
}

// True if all mappings were walked.
bool walk_on(Pages& pages, const Turn& turn, Residents* out) {
  ++walk.turns;
  for (unsigned count = 1;; ++count) {
    if (!walk.in_mapping && !walk.maps.next(&walk.mapping)) return true;
    if (static_cast<std::int64_t>(walk.mapping.start) < 0) return true; // addresses of the kernel
    walk.in_mapping = true;
    if (!look_at_mapping(pages, turn, out)) return false;
    walk.in_mapping = false;
    if (count % kTimeEach == 0 && turn.is_over()) return false;
  }
}

// Returns false if the walk has to be repeated: by the figures, the program has pages that it read but never
// wrote to, which the kernel does not count in RSS.
bool finish_walk(const AllocatorAnswer& answer, Residents* out) {
  walk.maps.close();
  close_anonymous_rows();
  walk.sum.end_of_mappings();
  const bool scanned = zeros_were_read;
  zeros_were_read = scanned ? walk.zeros > zeros_matter(walk.before.resident)
                            : zeros_may_be(walk.sum.anonymous() + named_mappings().anonymous, walk.before);
  if (zeros_were_read && !scanned) return false;
  const std::int64_t level = exact_host_level();
  const std::int64_t flows = flows_since_fork();
  drain_rings(false); // so that the live blocks are as new as the kernel's figure
  const Statm kernels = statm();
  out->total = kernels.resident;
  of_files = kernels.shared;
  walk.sum.finish(answer, out);
  const std::uint64_t meanwhile =
      distance(out->total, resident_now()) + static_cast<std::uint64_t>(flows_since_fork() - flows) +
      distance(static_cast<std::uint64_t>(level), static_cast<std::uint64_t>(exact_host_level()));
  if (meanwhile > out->drift) out->drift = meanwhile;
  // Between two turns, pages may change where the walk has already been.
  const std::uint64_t between =
      distance(walk.before.resident, out->total) + static_cast<std::uint64_t>(flows - walk.flows);
  if (walk.turns > 1 && between > out->drift) out->drift = between;
  return true;
}

} // namespace

LedgerProgress take_residents(const AllocatorAnswer& answer, const Turn& turn, Residents* out) {
  Pages pages;
  if (!pages.known()) {
    leave_residents();
    return LedgerProgress::failed;
  }
  for (;;) {
    if (!walk.maps.is_open()) begin_walk(out);
    if (!walk.maps.is_open()) return LedgerProgress::failed;
    const std::uint64_t zeros = pages.zeros();
    const bool all = walk_on(pages, turn, out);
    walk.zeros += pages.zeros() - zeros;
    if (!all) return LedgerProgress::later;
    if (finish_walk(answer, out)) return out->total != 0 ? LedgerProgress::done : LedgerProgress::failed;
  }
}

bool complete_residents(const Turn& turn, Residents* out) {
  if (!look_at_named(turn)) return false;
  const Named& named = named_mappings();
  for (std::size_t i = 0; i < format::kLedgerRows; ++i) {
    out->row[i].resident += named.row[i].resident;
    out->row[i].given += named.row[i].given;
    out->row[i].parts += named.row[i].parts;
  }
  // For the hooks, these are mappings without a file and without resident pages.
  const std::uint64_t huge = named.row[static_cast<std::size_t>(LedgerRow::huge)].given;
  LedgerAmount& anonymous = (*out)[LedgerRow::anonymous];
  if (anonymous.given >= anonymous.resident + huge) anonymous.given -= huge;
  const std::uint64_t moved = distance(named.pages, of_files);
  if (moved > out->drift) out->drift = moved;
  split_arena_rows(*out);
  return true;
}

void leave_residents() {
  walk.maps.close();
  close_anonymous_rows();
  leave_named();
}

void forget_residents() {
  walk.maps.forget();
  forget_anonymous_rows();
  forget_named_mappings();
  zeros_were_read = false;
  forget_retained_memory();
  forget_inherited();
}

} // namespace memtrace::record
