// Purpose: an allocator's answer, and the pages that are there -> what of its free memory is in RSS, and what
// it has in use that came to no hook.
// Runs: on the background thread.
#include "preload/rss/retained_memory.h"

#include "preload/record/live_levels.h"
#include "preload/rss/inherited_ranges.h"
#include "preload/rss/ledger_rows.h"

namespace memtrace::record {
namespace {

constexpr std::uint64_t kNewsOfTotal = 50;       // 1 part may have come since the allocator was asked
constexpr std::uint64_t kEarlyOfChild = 2 << 20; // it begins to record when a MiB came
constexpr std::uint64_t kLateOfTotal = 200;

// A forked child's allocator begins with what it had in the parent: by what it said first, or, where that was
// late, by what the parent's said last before the fork.
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
  if (!of_parent.is) of_parent = late && before_fork.is ? before_fork : AllocatorReport{true, kept->free, kept->unseen};
  kept->free = saturating_sub(kept->free, of_parent.free);
  kept->unseen = saturating_sub(kept->unseen, of_parent.unseen);
}

} // namespace

// An answer is good for as long as little came since. After that, glibc's says nothing; of who maps for itself
// the pages are known, and free can be at most what was and what came since: without that 18 % of RSS were
// unexplained for a block of 4 MiB that came and went (jemalloc).
RetainedMemory kept_of(const AllocatorAnswer& answer, const OfAllocator& known) {
  RetainedMemory out;
  const KeptFree& said = answer.kept;
  out.since = static_cast<std::uint64_t>(flows_since_fork() - answer.flowed);
  out.estimated = out.since > known.total / kNewsOfTotal;
  if (!answer.given || (out.estimated && (said.by_chunks || inherited_is_noted()))) return out;
  out.known = true;
  out.given = said.bytes;
  // jemalloc's own `operator new` comes to no hook; its own count has all blocks.
  if (!out.estimated) unseen_last = saturating_sub(said.in_use + answer.moving, known.given);
  out.unseen = unseen_last;
  // Free space that was given back page by page, or never written to, is kept and not in memory: of glibc's the
  // holes in its heaps, of another's all but the pages that are there beside its blocks.
  out.free = said.by_chunks ? saturating_sub(said.bytes, known.holes_freed)
                            : lesser(saturating_sub(known.pages, known.resident + out.unseen), said.bytes + out.since);
  if (!out.estimated) last = {true, out.free, said.in_use}; // a child knows none of its parent's blocks
  if (inherited_is_noted())
    take_off_the_parents(answer, known.total, &out); // in pages that are shared, or copied
  return out;
}

void forget_retained_memory() {
  before_fork = last;
  last = of_parent = {};
  unseen_last = 0;
}

} // namespace memtrace::record
