// Purpose: what of this process is in memory, by what it is for: the rows of its ledger. None is made by
// subtraction.
// Runs: on the background thread.
//
// Mappings of files, stacks and libraries are told apart by /proc/self/maps, what of them is in memory by the
// page tables. The rest is anonymous: there the kernel merges what lies side by side, so it is told apart by
// the ranges that we know (blocks of the program, arenas of Python, our own). Of each range all but its holes
// is in memory. What is anonymous and in no range is nobody's: it is what the ledger does not explain.
#include "preload/rss/rss_ledger.h"

#include "preload/allocator/allocator_stats.h"
#include "preload/allocator/pymalloc_arenas.h"
#include "preload/kernel/look_budget.h"
#include "preload/kernel/page_residency.h"
#include "preload/kernel/proc_maps.h"
#include "preload/kernel/smaps.h"
#include "preload/kernel/statm.h"
#include "preload/os/recorder_mappings.h"
#include "preload/record/live_levels.h"
#include "preload/record/thread_list.h"
#include "preload/ring/ring.h"
#include "preload/rss/heap_and_stack_bounds.h"
#include "preload/rss/inherited_ranges.h"
#include "preload/rss/named_mappings.h"
#include "preload/rss/nonresident_ranges.h"
#include "preload/rss/retained_memory.h"
#include "preload/trace/trace_windows.h"

namespace memtrace::record {

using format::Kind;
using format::kPage;
using format::LedgerRow;
using rollup::Block;

namespace {

constexpr std::uint64_t kChunkHeader = 8; // glibc's

constinit Holes holes{};
constinit Holes copies{}; // of a forked child: pages of its parent's that it wrote to since
constinit SomeArenas some_arenas{};
constinit SmapsReader smaps{};
constexpr std::uint64_t kLargest = std::uint64_t{64} << 30;   // mincore takes 8 ms
constexpr std::uint64_t kSmapsMost = std::uint64_t{16} << 30; // of RSS: 100 ms
constinit std::uint64_t of_files = 0;                         // bytes in RSS, at the same moment as the total

constinit bool zeros_were_read = false;
constexpr std::uint64_t kZerosOfTotal = 400; // 1 part may be what came and went meanwhile
constexpr std::uint64_t kFewZeros = 256 * 1024;

std::uint64_t distance(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : b - a;
}
std::uint64_t positive(std::int64_t value) {
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}
std::uint64_t above(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : 0;
}
std::uint64_t overlap(const Extent& range, std::uint64_t start, std::uint64_t end) {
  const std::uint64_t from = range.start > start ? range.start : start;
  const std::uint64_t to = range.end < end ? range.end : end;
  return to > from ? to - from : 0;
}

// --- which block is whose ---

// Python's arenas are one row here and become two: how full they are is asked of some.
template <class Take>
void each_range(const Block& block, Take take) {
  const std::uint64_t start = block.address;
  if (block.memory != 0 || !block.is(Block::kCounted)) return;
  switch (static_cast<Kind>(block.kind)) {
    case Kind::heap: {
      // What PyTorch asked for is the tensor, as its own counters have it. The rest is rounding.
      const std::uint64_t asked = block.asked < block.given ? block.asked : block.given;
      const std::uint64_t tensor = block.is(Block::kTensor) ? asked : 0;
      if (tensor != 0) take(LedgerRow::tensors, start, start + tensor);
      take(LedgerRow::heap, start + tensor, start + block.given);
      return;
    }
    case Kind::mmap_anon:
      take(block.is(Block::kArena) ? LedgerRow::python_used : LedgerRow::anonymous, start, start + block.given);
      return;
    case Kind::stack:
      take(LedgerRow::stacks, start, start + block.given);
      return;
    case Kind::pinned:
    case Kind::managed:
      take(LedgerRow::pinned, start, start + block.given);
      return;
    default:
      return; // mappings of files and shared memory are told by the kernel
  }
}

class Sum {
 public:
  // False: the turn is over, and the same mapping is to be given again.
  bool anonymous_mapping(const Mapping& one, Pages& pages, const Turn& turn, Residents* out);
  void closed_mapping(const Mapping& one) { guard_ = {one.start, one.end}; }
  void end_of_mappings() { hole(at_, ~kPage + 1); }
  std::uint64_t anonymous() const { return anonymous_; }
  void finish(const Answer& answer, Residents* out);

 private:
  enum class Stage : std::uint8_t { none, pages, of_both }; // of the mapping

  template <class Take>
  void each_known(Take take);
  void part(const Extent& range, LedgerRow row, std::uint64_t from, std::uint64_t to);
  void hole(std::uint64_t start, std::uint64_t end);
  void begin(const Mapping& one);
  bool look_at_pages(const Mapping& one, Pages& pages, const Turn& turn);
  bool too_large(const Mapping& one, const Pages& pages);
  bool of_both(const Mapping& one, Pages& pages, const Turn& turn);
  void own_copy(std::uint64_t start, std::uint64_t end, const Extent& told);
  void flush();
  void flush_copies();
  void small_blocks();
  void kept(const Answer& answer);

  Residents* out_ = nullptr;
  Extent guard_; // the last mapping that cannot be read
  Stage stage_ = Stage::none;
  bool ours_ = false;
  Extent library_; // in the mapping, as the next two
  Extent stack_;
  Extent heap_;
  std::uint64_t both_ = 0; // up to here it is known what of the mapping another process has too
  std::uint64_t at_ = 0;   // up to here it is known what is there
  std::uint64_t anonymous_ = 0;
  std::uint64_t absent_[format::kLedgerRows] = {};
  std::uint64_t allocator_pages_ = 0; // of an allocator that maps for itself
  std::uint64_t heap_holes_ = 0;      // of glibc's pages
  std::uint64_t heap_holes_live_ = 0; // of these, in blocks that are alive
};

template <class Take>
void Sum::each_known(Take take) {
  folded.each_block([&](const Block& block) { each_range(block, take); });
  for (const NotedRange& own : own_ranges())
    if (own.start != 0) take(LedgerRow::own, own.start, own.start + own.bytes);
}

// What is known to be the child's own lies in blocks; the rest of these pages are copies.
void Sum::flush_copies() {
  if (copies.empty()) return;
  const Locked locked(pass_lock);
  std::uint64_t& row = (*out_)[LedgerRow::copied].resident;
  if (locked) {
    each_known(
        [&](LedgerRow, std::uint64_t start, std::uint64_t end) { row -= copies.within(start, end).all; });
  }
  copies.clear();
}

// The holes seen so far are taken off the blocks that they are in.
void Sum::flush() {
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

void Sum::hole(std::uint64_t start, std::uint64_t end) {
  const bool of_heap = heap_.holds(start);
  if (of_heap) heap_holes_ += end - start;
  if (holes.full()) flush();
  holes.add(start, end, of_heap);
}

// --- mappings ---

void Sum::part(const Extent& range, LedgerRow row, std::uint64_t from, std::uint64_t to) {
  (*out_)[row].resident += overlap(range, from, to);
}

void Sum::begin(const Mapping& one) {
  library_ = {one.start, library_end(one.start, &ours_)};
  stack_ = library_.end == 0 ? stack_within(one, guard_) : Extent{};
  heap_ = {};
  hole(at_, one.start); // where nothing is mapped, nothing of a block is left
  at_ = both_ = one.start;
  stage_ = Stage::pages;
}

bool Sum::look_at_pages(const Mapping& one, Pages& pages, const Turn& turn) {
  pages.begin(at_, one.end, zeros_were_read ? Pages::Of::written : Pages::Of::anonymous, &turn);
  for (PageRun run; pages.next(&run);) {
    if (run.start > at_) hole(at_, run.start);
    at_ = run.end;
    if (const Extent heap = heap_within(one, run.start, run.end); heap.end != 0)
      heap_ = {heap_.end == 0 ? heap.start : heap_.start, heap.end};
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

// Before Linux 6.7, where nothing tells which pages of a large reservation are there, the kernel says how many.
// They count as those at its start, for such a mapping is one block as a rule.
bool Sum::too_large(const Mapping& one, const Pages& pages) {
  if (one.end - one.start <= kLargest || pages.scans()) return false;
  const std::uint64_t resident = resident_now() < kSmapsMost ? smaps.resident_of(one.start) : 0;
  anonymous_ += resident;
  hole(one.start + resident, one.end);
  at_ = one.end;
  return true;
}

bool Sum::anonymous_mapping(const Mapping& one, Pages& pages, const Turn& turn, Residents* out) {
  out_ = out;
  if (stage_ == Stage::none) {
    begin(one);
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

void Sum::own_copy(std::uint64_t start, std::uint64_t end, const Extent& told) {
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

// What a forked child has not written to since it shares with its parent; where it wrote the kernel made a
// copy. Where its parent had nothing there are its own blocks, which other rows have.
bool Sum::of_both(const Mapping& one, Pages& pages, const Turn& turn) {
  const Extent told = library_.end != 0 ? library_ : stack_;
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

// --- what the ranges sum up to ---

// How full they are is said of some; the rest is taken to be like them.
void split(Residents& out) {
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

void Sum::small_blocks() {
  const format::SmallTotals later = unpublished_of_all();
  const rollup::Ledger& ledger = folded.ledger();
  const std::uint64_t bytes =
      positive(ledger.small_level() + static_cast<std::int64_t>(later.allocated - later.freed));
  const std::uint64_t blocks =
      positive(ledger.small_blocks() + static_cast<std::int64_t>(later.births - later.deaths));
  LedgerAmount& heap = (*out_)[LedgerRow::heap];
  heap.parts += blocks;
  // The page of a small block is there: its header was written, or that of its neighbour.
  const std::uint64_t headers = allocator_is_glibc() ? heap.parts * kChunkHeader : 0;
  heap.resident += bytes + headers;
  heap.given += bytes + headers;
}

void Sum::kept(const Answer& answer) {
  LedgerAmount& heap = (*out_)[LedgerRow::heap];
  const LedgerAmount& tensors = (*out_)[LedgerRow::tensors];
  heap.given += answer.moving;
  heap.resident += answer.moving;
  const Kept kept = kept_of(answer, {out_->total, heap.given + tensors.given, heap.resident + tensors.resident,
                                     allocator_pages_, above(heap_holes_, heap_holes_live_)});
  if (!kept.known) return;
  out_->allocator_asked = true;
  out_->drift = kept.since;
  (*out_)[LedgerRow::kept] = {kept.free, kept.given, 0, kept.estimated};
  heap.given += kept.unseen;
  heap.resident += kept.unseen;
}

void Sum::finish(const Answer& answer, Residents* out) {
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

} // namespace

namespace {

std::uint64_t zeros_matter(std::uint64_t resident) {
  return resident / kZerosOfTotal > kFewZeros ? resident / kZerosOfTotal : kFewZeros;
}

// More pages are there than the kernel counted before or since: some may have been read and never written to.
// Then PAGEMAP_SCAN is asked, which costs five times as much as mincore (decision 0016), and says how many.
bool zeros_may_be(std::uint64_t anonymous, const Statm& before) {
  const Statm now = statm();
  const std::uint64_t counted = now.resident - now.shared, then = before.resident - before.shared;
  return anonymous > (counted > then ? counted : then) + zeros_matter(now.resident);
}

// A walk over the mappings, which may take several turns.
struct Walk {
  MapsReader maps;
  Mapping mapping;
  bool in_mapping; // it was begun
  Sum sum;
  Statm before;
  std::int64_t flows;
  std::uint64_t zeros;
  unsigned turns;
};
constinit Walk walk{};
constexpr unsigned kTimeEach = 16; // mappings: to ask for the time takes a tenth of one

void begin_walk(Residents* out) {
  walk.before = statm();
  walk.flows = flows_since_fork();
  *out = {};
  holes.clear();
  copies.clear();
  walk.maps.open();
  smaps.open();
  walk.in_mapping = false;
  walk.sum = {};
  walk.zeros = 0;
  walk.turns = 0;
}

// True: of one mapping all that is in memory is known.
bool look_at_mapping(Pages& pages, const Turn& turn, Residents* out) {
  const Mapping& one = walk.mapping;
  const bool anonymous = is_anonymous(one);
  if (anonymous && !one.readable) walk.sum.closed_mapping(one);
  if (!anonymous || !one.readable || one.shared) return true;
  return walk.sum.anonymous_mapping(one, pages, turn, out);
}

// True: all of them.
bool walk_on(Pages& pages, const Turn& turn, Residents* out) {
  ++walk.turns;
  for (unsigned count = 1;; ++count) {
    if (!walk.in_mapping && !walk.maps.next(&walk.mapping)) return true;
    if (static_cast<std::int64_t>(walk.mapping.start) < 0) return true; // the kernel's
    walk.in_mapping = true;
    if (!look_at_mapping(pages, turn, out)) return false;
    walk.in_mapping = false;
    if (count % kTimeEach == 0 && turn.is_over()) return false;
  }
}

// False: it has to be looked at again, for zeros were read.
bool finish_walk(const Answer& answer, Residents* out) {
  walk.maps.close();
  smaps.close();
  walk.sum.end_of_mappings();
  const bool scanned = zeros_were_read;
  zeros_were_read = scanned ? walk.zeros > zeros_matter(walk.before.resident)
                            : zeros_may_be(walk.sum.anonymous() + named_mappings().anonymous, walk.before);
  if (zeros_were_read && !scanned) return false;
  const std::int64_t level = host_level();
  const std::int64_t flows = flows_since_fork();
  drain_rings(false); // so that what is known of blocks is as new as the figure of the kernel
  const Statm kernels = statm();
  out->total = kernels.resident;
  of_files = kernels.shared;
  walk.sum.finish(answer, out);
  const std::uint64_t meanwhile =
      distance(out->total, resident_now()) + static_cast<std::uint64_t>(flows_since_fork() - flows) +
      distance(static_cast<std::uint64_t>(level), static_cast<std::uint64_t>(host_level()));
  if (meanwhile > out->drift) out->drift = meanwhile;
  // Between two turns pages come and go where the walk has been.
  const std::uint64_t between =
      distance(walk.before.resident, out->total) + static_cast<std::uint64_t>(flows - walk.flows);
  if (walk.turns > 1 && between > out->drift) out->drift = between;
  return true;
}

} // namespace

Look take_residents(const Answer& answer, const Turn& turn, Residents* out) {
  Pages pages;
  if (!pages.known()) {
    leave_residents();
    return Look::failed;
  }
  for (;;) {
    if (!walk.maps.is_open()) begin_walk(out);
    if (!walk.maps.is_open()) return Look::failed;
    const std::uint64_t zeros = pages.zeros();
    const bool all = walk_on(pages, turn, out);
    walk.zeros += pages.zeros() - zeros;
    if (!all) return Look::later;
    if (finish_walk(answer, out)) return out->total != 0 ? Look::done : Look::failed;
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
  // The hooks have these as mappings without a file, of which nothing is in memory.
  const std::uint64_t huge = named.row[static_cast<std::size_t>(LedgerRow::huge)].given;
  LedgerAmount& anonymous = (*out)[LedgerRow::anonymous];
  if (anonymous.given >= anonymous.resident + huge) anonymous.given -= huge;
  const std::uint64_t moved = distance(named.pages, of_files);
  if (moved > out->drift) out->drift = moved;
  split(*out);
  return true;
}

void leave_residents() {
  walk.maps.close();
  smaps.close();
  leave_named();
}

void forget_residents() {
  walk.maps.forget();
  smaps.forget();
  forget_named();
  zeros_were_read = false;
  forget_arena_fill();
  forget_kept();
  forget_inherited();
}

} // namespace memtrace::record
