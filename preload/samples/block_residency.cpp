// Purpose: how much of each large block is resident: a block may be written to long after its birth.
// Runs: on the background thread.
#include "preload/samples/block_residency.h"

#include "preload/format/sample_events.h"
#include "preload/kernel/page_residency.h"
#include "preload/os/clocks.h"
#include "preload/os/timestamp.h"
#include "preload/samples/climb.h"
#include "preload/samples/kernel_samples.h"
#include "preload/state/new_record.h"
#include "preload/trace/trace_windows.h"

namespace memtrace::record {

using format::Kind;
using format::kPage;
using format::RingRecord;
using format::Stamp;
using rollup::LedgerBlock;

namespace {

// Smaller blocks usually come from the allocator's heap, whose pages were in use before.
constexpr std::uint64_t kLargeBytes = 256 * 1024;
constexpr std::uint64_t kNewsPart = 32;           // 1 part of a block: a smaller change is not recorded
constexpr std::uint64_t kLeastAgeNs = 20'000'000; // most blocks are written to at once
constexpr std::uint64_t kBetweenNs = 20'000'000;
constexpr std::uint64_t kOneLookNs = 2'000'000; // of CPU; the remaining blocks wait for the next look
constexpr std::uint64_t kShare = 2000;          // 1 part of the time, for all looks
constexpr std::uint64_t kClimbShare = 400;      // 1 part more of the time in which memory climbs
constexpr std::size_t kMost = 512;

struct KnownBlock {
  std::uint64_t address;
  std::uint64_t given;
  Stamp birth;
  std::uint64_t resident; // as last recorded; at first all of it, which needs no record
  std::uint64_t at;       // the look has come to this address; 0: not begun
  std::uint64_t so_far;   // resident bytes below `at`
  Stamp looked;           // time of the last look; at first the birth, when nothing was resident
  bool alive;
  bool whole;
};

constinit KnownBlock known[kMost] = {};
constinit std::size_t known_used = 0;
constinit std::size_t next = 0;         // the block to look at next
constinit std::uint32_t incomplete = 0; // blocks of `known` that are not fully resident
constinit std::uint64_t began = 0;
constinit std::uint64_t soonest = 0;        // time of the next look, if it is affordable
constinit std::uint64_t due = 0;            // time of the next look, if memory does not climb until then
constinit std::uint64_t spent = 0;          // CPU time of looks while memory did not climb, in ns
constinit std::uint64_t spent_climbing = 0; // of the others

// True if the block is large and may be partly resident. Pinned blocks are always resident.
bool is_large(const LedgerBlock& block) {
  const auto kind = static_cast<Kind>(block.kind);
  const bool written = kind == Kind::heap || (kind == Kind::mmap_anon && !block.is(LedgerBlock::kArena));
  return written && block.memory == 0 && block.given >= kLargeBytes && block.is(LedgerBlock::kCounted);
}

KnownBlock* find(const LedgerBlock& block) {
  for (std::size_t i = 0; i < known_used; ++i)
    if (known[i].address == block.address && known[i].birth == block.birth) return &known[i];
  return nullptr;
}

void meet(LedgerBlock& block, Stamp now) {
  if (!is_large(block) || block.is(LedgerBlock::kWhole)) return;
  KnownBlock* one = find(block);
  if (one == nullptr) {
    if (known_used == kMost || block.birth + kLeastAgeNs > now) return;
    one = &known[known_used++];
    *one = {block.address, block.given, block.birth, block.given, 0, 0, block.birth, false, false};
  }
  if (one->whole) block.state |= LedgerBlock::kWhole;
  one->alive = !one->whole;
  one->given = block.given; // a part of a mapping may be unmapped
}

// Returns false if the blocks are not available, because another thread has the pass lock.
bool meet_all() {
  for (std::size_t i = 0; i < known_used; ++i) known[i].alive = false;
  const Locked locked(pass_lock);
  if (!locked) return false;
  const Stamp now = draw_stamp();
  folded.each_block([&](LedgerBlock& block) { meet(block, now); });
  return true;
}

void drop_dead() {
  std::size_t used = 0;
  for (std::size_t i = 0; i < known_used; ++i)
    if (known[i].alive) known[used++] = known[i];
  known_used = used;
}

// Returns false if the turn is over; the next turn continues.
bool look_at_pages(Pages& pages, KnownBlock& one, const Turn& turn) {
  const std::uint64_t start = one.address, end = start + one.given;
  if (one.at == 0) {
    one.at = start / kPage * kPage;
    one.so_far = 0;
  }
  pages.begin(one.at, (end + kPage - 1) / kPage * kPage, Pages::Of::written, &turn);
  for (PageRun run; pages.next(&run);)
    one.so_far += (run.end < end ? run.end : end) - (run.start > start ? run.start : start);
  one.at = pages.done() ? 0 : pages.at();
  return pages.done();
}

// True if `out` has a new record.
bool look(Pages& pages, KnownBlock& one, const Turn& turn, RingRecord* out) {
  if (!look_at_pages(pages, one, turn)) return false;
  const std::uint64_t resident = one.so_far;
  *out = record_of(format::SampleTouchedEvent{one.address, one.birth, one.given, resident, one.looked});
  one.looked = out->stamp;
  one.whole = one.given - resident < kPage; // the last page may be only rounding
  const std::uint64_t moved = resident > one.resident ? resident - one.resident : one.resident - resident;
  const bool is_news = moved >= (one.whole ? kPage : one.given / kNewsPart);
  if (is_news) one.resident = resident;
  return is_news;
}

void look_at_known() {
  static constinit RingRecord records[64] = {};
  std::size_t count = 0;
  const Turn turn(kOneLookNs);
  Pages pages;
  if (!pages.known()) return;
  if (next >= known_used) next = 0;
  for (std::size_t left = known_used; left != 0 && !turn.is_over(); --left) {
    KnownBlock& one = known[next];
    next = next + 1 == known_used ? 0 : next + 1;
    if (!one.whole && look(pages, one, turn, &records[count])) ++count;
    if (count == sizeof records / sizeof records[0]) break;
  }
  if (count != 0) append_samples(records, count);
}

void look_at_blocks() {
  if (!meet_all()) return;
  drop_dead();
  look_at_known();
  std::uint32_t now = 0;
  for (std::size_t i = 0; i < known_used; ++i) now += known[i].whole ? 0 : 1;
  __atomic_store_n(&incomplete, now, __ATOMIC_RELAXED);
}

// True if memory climbs, and the share of that time is not used up. What is left of it when the climb ends is
// not used later: the steps of two ranks then had a look each 25 ms, and a pass with each.
bool climb_affords(std::uint64_t now) {
  return climb().climbs(now) && spent_climbing <= climb().time() / kClimbShare;
}

// Returns the time from which another look is affordable, if memory does not climb until then.
std::uint64_t next_affordable(std::uint64_t now) {
  const std::uint64_t allowed = (now - began) / kShare;
  return climb_affords(now) || spent <= allowed ? now : now + (spent - allowed) * kShare;
}

} // namespace

void look_at_blocks_if_due() {
  const std::uint64_t now = os::monotonic_ns();
  if (began == 0) began = now;
  if (now >= soonest && now >= next_affordable(now)) {
    const bool climbs = climb_affords(now);
    const std::uint64_t before = os::thread_cpu_ns();
    look_at_blocks();
    (climbs ? spent_climbing : spent) += os::thread_cpu_ns() - before;
    soonest = now + kBetweenNs;
  }
  const std::uint64_t affordable = next_affordable(now);
  __atomic_store_n(&due, soonest > affordable ? soonest : affordable, __ATOMIC_RELAXED);
}

// Phases ask. If this were true before the next look is due, each phase would wake the background thread for
// nothing: 200 times a second in small training steps, 2 % of their CPU.
bool blocks_may_be_touched(std::uint64_t now) {
  return __atomic_load_n(&incomplete, __ATOMIC_RELAXED) != 0 && now >= __atomic_load_n(&due, __ATOMIC_RELAXED);
}

void forget_touched() {
  known_used = next = 0;
  incomplete = 0;
  began = soonest = due = spent = spent_climbing = 0;
}

} // namespace memtrace::record
