// Purpose: from an allocator's answer and the resident pages: its free memory in RSS, and its used memory that
// no hook saw.
// Runs: on the background thread.
#include "preload/rss/retained_memory.h"

#include "preload/record/live_levels.h"
#include "preload/rss/inherited_ranges.h"
#include "preload/rss/ledger_rows.h"

namespace memtrace::record {
namespace {

constexpr std::uint64_t kNewsOfTotal = 50;       // 1 part may have come since the allocator was queried
constexpr std::uint64_t kEarlyOfChild = 2 << 20; // it begins to record after 1 MiB
constexpr std::uint64_t kLateOfTotal = 200;

// A forked child's allocator begins with the free memory that it had in the parent. That is the child's first
// answer, or, if that was late, the parent's last answer before the fork.
struct AllocatorReport {
  bool is = false;
  std::uint64_t free = 0;
  std::uint64_t unseen = 0;
};
constinit AllocatorReport last{};
constinit AllocatorReport before_fork{};
constinit AllocatorReport of_parent{};
constinit std::uint64_t unseen_last = 0;

std::uint64_t lesser(std::uint64_t a, std::uint64_t b) {
  return a < b ? a : b;
}

void take_off_the_parents(const AllocatorAnswer& answer, std::uint64_t total, RetainedMemory* kept) {
  const auto came = static_cast<std::uint64_t>(answer.flowed);
  const bool late = came > kEarlyOfChild && came > total / kLateOfTotal;
  if (!of_parent.is)
    of_parent = late && before_fork.is ? before_fork : AllocatorReport{true, kept->free, kept->unseen};
  kept->free = saturating_sub(kept->free, of_parent.free);
  kept->unseen = saturating_sub(kept->unseen, of_parent.unseen);
}

} // namespace

// An answer is valid while few bytes have come since. After that, glibc's answer tells nothing. For an
// allocator that calls mmap itself, the pages are known, and its free memory is at most the old amount and the
// bytes since. Without that rule, 18 % of RSS was unexplained for a block of 4 MiB that came and went
// (jemalloc).
RetainedMemory kept_of(const AllocatorAnswer& answer, const OfAllocator& known) {
  RetainedMemory out;
  const KeptFree& said = answer.kept;
  out.since = static_cast<std::uint64_t>(flows_since_fork() - answer.flowed);
  out.estimated = out.since > known.total / kNewsOfTotal;
  if (!answer.given || (out.estimated && (said.by_chunks || inherited_is_noted()))) return out;
  out.known = true;
  out.given = said.bytes;
  // jemalloc's own `operator new` does not call a hook; jemalloc's count has all blocks.
  if (!out.estimated) unseen_last = saturating_sub(said.in_use + answer.moving, known.given);
  out.unseen = unseen_last;
  // Free space that was returned page by page, or never written to, is retained but not resident. For glibc,
  // these are the holes in its heaps. For other allocators, these are all pages but the resident ones outside
  // their blocks.
  out.free = said.by_chunks
                 ? saturating_sub(said.bytes, known.holes_freed)
                 : lesser(saturating_sub(known.pages, known.resident + out.unseen), said.bytes + out.since);
  if (!out.estimated) last = {true, out.free, said.in_use}; // a child does not know its parent's blocks
  if (inherited_is_noted())
    take_off_the_parents(answer, known.total, &out); // these are in pages that are shared or copied
  return out;
}

void forget_retained_memory() {
  before_fork = last;
  last = of_parent = {};
  unseen_last = 0;
}

} // namespace memtrace::record
