// Purpose: the resident parts of the anonymous mappings, by the ranges that memtrace knows: blocks, arenas, its
// own.
// Runs: on the background thread.
//
// The kernel merges neighbouring anonymous mappings, so the ranges distinguish them. All of a range but its
// holes is resident.
#include "preload/rss/anonymous_rows.h"

#include "preload/allocator/allocator_stats.h"
#include "preload/allocator/pymalloc_arenas.h"
#include "preload/kernel/smaps.h"
#include "preload/kernel/statm.h"
#include "preload/os/recorder_mappings.h"
#include "preload/record/thread_list.h"
#include "preload/rss/inherited_ranges.h"
#include "preload/rss/nonresident_ranges.h"
#include "preload/rss/retained_memory.h"
#include "preload/trace/trace_windows.h"

namespace memtrace::record {

using format::Kind;
using format::kPage;
using format::LedgerRow;
using rollup::LedgerBlock;

namespace {

constexpr std::uint64_t kChunkHeader = 8; // bytes that glibc adds to each block

constinit Holes holes{};
constinit Holes copies{}; // of a forked child: inherited pages that it wrote to
constinit SomeArenas some_arenas{};
constinit SmapsReader smaps{};
constexpr std::uint64_t kLargest = std::uint64_t{64} << 30;   // mincore takes 8 ms
constexpr std::uint64_t kSmapsMost = std::uint64_t{16} << 30; // of RSS: 100 ms

std::uint64_t positive(std::int64_t value) {
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}
std::uint64_t overlap(const AddressBounds& range, std::uint64_t start, std::uint64_t end) {
  const std::uint64_t from = range.start > start ? range.start : start;
  const std::uint64_t to = range.end < end ? range.end : end;
  return to > from ? to - from : 0;
}

// Gives `take` the ranges of a block, with their rows. Python's arenas are one row here; split_arena_rows()
// makes two of it.
template <class Take>
void each_range(const LedgerBlock& block, Take take) {
  const std::uint64_t start = block.address;
  if (block.memory != 0 || !block.is(LedgerBlock::kCounted)) return;
  switch (static_cast<Kind>(block.kind)) {
    case Kind::heap: {
      // The bytes that PyTorch asked for are the tensor, as in its own counters. The rest is rounding.
      const std::uint64_t asked = block.asked < block.given ? block.asked : block.given;
      const std::uint64_t tensor = block.is(LedgerBlock::kTensor) ? asked : 0;
      if (tensor != 0) take(LedgerRow::tensors, start, start + tensor);
      take(LedgerRow::heap, start + tensor, start + block.given);
      return;
    }
    case Kind::mmap_anon:
      take(block.is(LedgerBlock::kArena) ? LedgerRow::python_used : LedgerRow::anonymous, start,
           start + block.given);
      return;
    case Kind::stack:
      take(LedgerRow::stacks, start, start + block.given);
      return;
    case Kind::pinned:
    case Kind::managed:
      take(LedgerRow::pinned, start, start + block.given);
      return;
    default:
      return; // the kernel reports mappings of files and shared memory
  }
}

} // namespace

void AnonymousRows::begin_walk(bool written_only) {
  *this = {};
  written_only_ = written_only;
  holes.clear();
  copies.clear();
  smaps.open();
}

template <class Take>
void AnonymousRows::each_known(Take take) {
  folded.each_block([&](const LedgerBlock& block) { each_range(block, take); });
  for (const NotedRange& own : own_ranges())
    if (own.start != 0) take(LedgerRow::own, own.start, own.start + own.bytes);
}

// Subtracts the blocks of the child from the copied pages. The rest of these pages are copies of the parent's.
void AnonymousRows::flush_copies() {
  if (copies.empty()) return;
  const Locked locked(pass_lock);
  std::uint64_t& row = (*out_)[LedgerRow::copied].resident;
  if (locked) {
    each_known(
        [&](LedgerRow, std::uint64_t start, std::uint64_t end) { row -= copies.within(start, end).all; });
  }
  copies.clear();
}

// Subtracts the holes seen so far from the blocks that contain them.
void AnonymousRows::flush() {
  if (holes.empty()) return;
  const Locked locked(pass_lock);
  if (locked) {
    each_known([&](LedgerRow row, std::uint64_t start, std::uint64_t end) {
      const Holes::Overlap in = holes.within(start, end);
      absent_[static_cast<std::size_t>(row)] += in.all;
      heap_holes_live_ += in.heap;
    });
  }
  holes.clear();
}

void AnonymousRows::hole(std::uint64_t start, std::uint64_t end) {
  const bool of_heap = heap_.holds(start);
  if (of_heap && end > heap_.end) {
    hole(start, heap_.end);
    hole(heap_.end, end);
    return;
  }
  if (of_heap) heap_holes_ += end - start;
  if (holes.full()) flush();
  holes.add(start, end, of_heap);
}

void AnonymousRows::part(const AddressBounds& range, LedgerRow row, std::uint64_t from, std::uint64_t to) {
  (*out_)[row].resident += overlap(range, from, to);
}

void AnonymousRows::begin_mapping(const Mapping& one) {
  library_ = {one.start, library_end(one.start, &ours_)};
  stack_ = library_.end == 0 ? stack_within(one, guard_) : AddressBounds{};
  heap_ = {};
  hole(at_, one.start); // an address that is not mapped is not part of a block
  at_ = both_ = one.start;
  stage_ = Stage::pages;
}

bool AnonymousRows::look_at_pages(const Mapping& one, Pages& pages, const Turn& turn) {
  pages.begin(at_, one.end, written_only_ ? Pages::Of::written : Pages::Of::anonymous, &turn);
  for (PageRun run; pages.next(&run);) {
    if (run.start > at_) hole(at_, run.start);
    at_ = run.end;
    if (const AddressBounds heap = heap_within(one, run.start, run.end); heap.end != 0) heap_ = heap;
    anonymous_ += run.end - run.start;
    for (const NotedRange& range : allocator_ranges())
      allocator_pages_ += overlap({range.start, range.start + range.bytes}, run.start, run.end);
    part(library_, ours_ ? LedgerRow::own : LedgerRow::code, run.start, run.end);
    part(stack_, LedgerRow::stacks, run.start, run.end);
  }
  const std::uint64_t known = pages.done() ? one.end : pages.at();
  if (at_ < known) hole(at_, known);
  at_ = known;
  return pages.done();
}

// Before Linux 6.7, no fast call tells which pages of a large reservation are resident, only how many. They
// count as the first pages, because such a mapping usually is one block. Returns false if the mapping is not so
// large, or if PAGEMAP_SCAN works.
bool AnonymousRows::too_large(const Mapping& one, const Pages& pages) {
  if (one.end - one.start <= kLargest || pages.scans()) return false;
  const std::uint64_t resident = resident_now() < kSmapsMost ? smaps.resident_of(one.start) : 0;
  anonymous_ += resident;
  hole(one.start + resident, one.end);
  at_ = one.end;
  return true;
}

bool AnonymousRows::anonymous_mapping(const Mapping& one, Pages& pages, const Turn& turn, Residents* out) {
  out_ = out;
  if (stage_ == Stage::none) {
    begin_mapping(one);
    if (too_large(one, pages)) {
      stage_ = Stage::none;
      return true;
    }
  }
  if (stage_ == Stage::pages && !look_at_pages(one, pages, turn)) return false;
  stage_ = Stage::of_both;
  if (inherited_is_noted() && !of_both(one, pages, turn)) return false;
  stage_ = Stage::none;
  heap_ = {};
  return true;
}

void AnonymousRows::own_copy(std::uint64_t start, std::uint64_t end, const AddressBounds& told) {
  if (told.start < end && told.end > start) {
    if (start < told.start) own_copy(start, told.start, {});
    if (told.end < end) own_copy(told.end, end, {});
    return;
  }
  each_inherited(start, end, [&](std::uint64_t from, std::uint64_t to) {
    if (copies.full()) flush_copies();
    copies.add(from, to, false);
    (*out_)[LedgerRow::copied].resident += to - from;
  });
}

// A forked child shares the pages that it has not written to with its parent. If it wrote to a page, the kernel
// made a copy. Pages where the parent had nothing are the child's own blocks, which other rows have. Returns
// false if the turn is over.
bool AnonymousRows::of_both(const Mapping& one, Pages& pages, const Turn& turn) {
  const AddressBounds told = library_.end != 0 ? library_ : stack_;
  pages.begin(both_, one.end, Pages::Of::forked, &turn);
  for (PageRun run; pages.next(&run);) {
    if (!run.shared) {
      own_copy(run.start, run.end, told);
      continue;
    }
    std::uint64_t bytes = run.end - run.start - overlap(told, run.start, run.end);
    for (const NotedRange& own : own_ranges()) {
      const std::uint64_t ours = overlap({own.start, own.start + own.bytes}, run.start, run.end);
      bytes -= ours < bytes ? ours : bytes;
    }
    (*out_)[LedgerRow::inherited].resident += bytes;
  }
  both_ = pages.at();
  return pages.done();
}

void AnonymousRows::small_blocks() {
  const format::SmallTotals later = unpublished_of_all();
  const rollup::Ledger& ledger = folded.ledger();
  const std::uint64_t bytes =
      positive(ledger.small_level() + static_cast<std::int64_t>(later.allocated - later.freed));
  const std::uint64_t blocks =
      positive(ledger.small_blocks() + static_cast<std::int64_t>(later.births - later.deaths));
  LedgerAmount& heap = (*out_)[LedgerRow::heap];
  heap.parts += blocks;
  // The page of a small block is resident, because its header or its neighbour's header was written.
  const std::uint64_t headers = allocator_is_glibc() ? heap.parts * kChunkHeader : 0;
  heap.resident += bytes + headers;
  heap.given += bytes + headers;
}

void AnonymousRows::kept(const AllocatorAnswer& answer) {
  LedgerAmount& heap = (*out_)[LedgerRow::heap];
  const LedgerAmount& tensors = (*out_)[LedgerRow::tensors];
  heap.given += answer.moving;
  heap.resident += answer.moving;
  const RetainedMemory kept =
      kept_of(answer, {out_->total, heap.given + tensors.given, heap.resident + tensors.resident,
                       allocator_pages_, saturating_sub(heap_holes_, heap_holes_live_)});
  if (!kept.known) return;
  out_->allocator_asked = true;
  out_->drift = kept.since;
  (*out_)[LedgerRow::kept] = {kept.free, kept.given, 0, kept.estimated};
  heap.given += kept.unseen;
  heap.resident += kept.unseen;
}

void AnonymousRows::finish(const AllocatorAnswer& answer, Residents* out) {
  out_ = out;
  flush_copies();
  some_arenas = {};
  {
    const Locked locked(pass_lock);
    if (!locked) return;
    each_known([&](LedgerRow which, std::uint64_t start, std::uint64_t end) {
      const Holes::Overlap in = holes.within(start, end);
      absent_[static_cast<std::size_t>(which)] += in.all;
      heap_holes_live_ += in.heap;
      LedgerAmount& row = (*out_)[which];
      row.given += end - start;
      row.resident += end - start;
      ++row.parts;
      if (which == LedgerRow::python_used) some_arenas.add(start, end - start);
    });
    for (std::size_t i = 0; i < format::kLedgerRows; ++i) {
      std::uint64_t& resident = out_->row[i].resident;
      resident -= absent_[i] < resident ? absent_[i] : resident;
    }
    small_blocks();
  }
  kept(answer);
}

void split_arena_rows(Residents& out) {
  bool all = false;
  const ArenaFill fill = some_arenas.look(&all);
  const std::uint64_t pools = fill.used + fill.free;
  const double part_free = pools == 0 ? 0 : static_cast<double>(fill.free) / static_cast<double>(pools);
  LedgerAmount& used = out[LedgerRow::python_used];
  LedgerAmount& free = out[LedgerRow::python_free];
  free.resident = static_cast<std::uint64_t>(static_cast<double>(used.resident) * part_free);
  used.resident -= free.resident;
  used.sampled = free.sampled = !all;
}

void close_anonymous_rows() {
  smaps.close();
}

void forget_anonymous_rows() {
  smaps.forget();
  forget_arena_fill();
}

} // namespace memtrace::record
