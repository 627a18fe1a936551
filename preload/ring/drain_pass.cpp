// Purpose: one pass over the rings: codes their records, appends them, applies them to the rollup and frees
// their places.
// Runs: in the drain and, when its ring is full, on the program's thread.
#include "preload/ring/drain_pass.h"

#include "preload/os/clocks.h"
#include "preload/os/gate/syscall_gate.h"
#include "preload/os/mappings.h"
#include "preload/os/timestamp.h"
#include "preload/ring/ring_file.h"
#include "preload/ring/ring_lease.h"
#include "preload/state/fork_mark.h"
#include "preload/state/loss_counters.h"
#include "preload/state/thread.h"
#include "preload/state/upcalls.h"
#include "preload/trace/coding_models.h"
#include "preload/trace/record_encoder.h"
#include "preload/trace/trace_windows.h"

namespace memtrace::record {

using format::kRingRecords;
using format::RingRecord;
using format::RingSlot;

namespace {

constexpr std::size_t kBufferBytes = kRingRecords * format::kMaxCoded;
constexpr std::uint64_t kAhead = 5;               // records between a prefetch and the use of its data
constexpr std::uint64_t kRetryNs = 1'000'000'000; // after a disk error
constexpr std::uint64_t kEndNs = 1'000'000'000;   // bound of the last pass, if the disk is slow

struct PendingRun {    // appended records of one slot, to be applied to the rollup
  format::Stamp stamp; // of the next record
  RingSlot* slot;
  // The ring as the pass found it. Its owner may move to a longer one meanwhile.
  const RingRecord* records;
  std::uint32_t mask;
  std::uint32_t thread;
  std::uint64_t next;
  std::uint64_t end;
  const RingRecord& at(std::uint64_t sequence) const { return records[sequence & mask]; }
};

constinit std::uint8_t* buffer = nullptr;
constinit PendingRun* runs = nullptr;   // a heap by stamp
constinit std::uint64_t not_before = 0; // after a disk error: no try earlier than this
constinit bool at_bound = false;
// The stretch in which the slot's thread has a segment.
constinit std::uint32_t said_in[format::kMaxSlots] = {};
constinit std::uint32_t said_slots = 0; // all slots that were claimed are below it

bool committed(const RingRecord& record, std::uint64_t sequence) {
  return __atomic_load_n(&record.commit, __ATOMIC_ACQUIRE) == static_cast<std::uint32_t>(sequence + 1);
}

// True if the record is older than `cut`. Both stamps of a move must be older.
bool before(const RingRecord& record, format::Stamp cut) {
  const bool moves = record.type == static_cast<std::uint8_t>(format::EventType::move);
  return record.stamp + (moves ? record.as<format::MoveEvent>().birth_after : 0) < cut;
}

// Codes the records of `run` before `cut`, as far as there is room. Returns the sequence after them. Sets
// `whole` if these are all of them.
std::uint64_t code(const PendingRun& run, format::Stamp cut, Encoder& encoder, bool* whole) {
  std::uint64_t next = run.next;
  for (*whole = true; next - run.next <= run.mask; ++next) {
    const RingRecord& record = run.at(next);
    if (!committed(record, next) || record.type >= format::kEventTypes || !before(record, cut)) break;
    if (const std::uint64_t ahead = next + kAhead; committed(run.at(ahead), ahead))
      encoder.expect(run.at(ahead));
    if (!encoder.add(record)) {
      *whole = false;
      break;
    }
    if (is_late(record.type)) note_late(record);
  }
  return next;
}

// Appends one segment of the records of a slot. On success, `run` has the records that the rollup lacks.
// `said`: the stretch in which the slot's thread has a segment.
Passed append(RingSlot* slot, const Ring& ring, std::uint32_t& said, format::Stamp cut, bool last,
              PendingRun* run) {
  const std::uint64_t room = events_room(last);
  const std::size_t capacity = room > kBufferBytes + sizeof(format::SegmentHeader) ? kBufferBytes
                               : room > sizeof(format::SegmentHeader)
                                   ? static_cast<std::size_t>(room - sizeof(format::SegmentHeader))
                                   : 0;
  const std::uint64_t first = __atomic_load_n(&slot->tail, __ATOMIC_RELAXED);
  *run = {0, slot, ring.records, ring.size - 1, slot->thread, first, first};
  const RingRecord& head = run->at(first);
  if (!committed(head, first) || !before(head, cut)) return Passed::all;
  const std::uint32_t stretch = current_stretch();
  ThreadModel* const model = model_for(run->thread, stretch, first);
  if (model == nullptr) return Passed::failed;
  Encoder encoder(buffer, capacity, model->model);
  bool whole;
  const std::uint64_t next = code(*run, cut, encoder, &whole);
  const Passed all = whole ? Passed::all : trace_file.shares.window != 0 ? Passed::some : Passed::no_room;
  if (next == first) { // the segment has no room for a record
    coded(*model, first);
    return all;
  }
  const bool opens = stretch != 0 && said != stretch;
  const format::SegmentHeader header = encoder.header(trace_file.trace_id, run->thread, format::Source::ring,
                                                      first, opens ? format::kAfterWindow : std::uint8_t{0});
  const Appended appended = append_events(header, buffer, last);
  if (appended == Appended::failed) return Passed::failed;
  if (appended == Appended::no_room) return Passed::some;
  coded(*model, next);
  said = stretch;
  run->end = next;
  run->stamp = head.stamp;
  return all;
}

// --- the runs, merged by stamp ---

// The order of the next records of two runs. Records of two threads may have one stamp: then the number of the
// thread is their order, as in the analyzer.
struct RunOrder {
  format::Stamp stamp;
  std::uint32_t thread;
  bool operator<(const RunOrder& other) const {
    return stamp != other.stamp ? stamp < other.stamp : thread < other.thread;
  }
};
RunOrder order_of(const PendingRun& run) {
  return {run.stamp, run.thread};
}

void sink(std::uint32_t at, std::uint32_t count) {
  const PendingRun run = runs[at];
  for (std::uint32_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && order_of(runs[child + 1]) < order_of(runs[child])) ++child;
    if (!(order_of(runs[child]) < order_of(run))) break;
    runs[at] = runs[child];
  }
  runs[at] = run;
}

// Applies the runs to the rollup in the order of their stamps. `all`: they are from all threads that recorded.
void fold_runs(std::uint32_t count, bool all) {
  const bool windows = folded.attached();
  if (!all) folded.pass_lacks_records();
  if (windows) folded.level_error().pass_begins(folded.levels()[0][rollup::live]);
  for (std::uint32_t i = 0; windows && i < count; ++i)
    folded.level_error().thread_begins(runs[i].at(runs[i].next));
  for (std::uint32_t i = count / 2; i-- > 0;) sink(i, count);
  while (count != 0) {
    PendingRun run = runs[0]; // a copy stays in registers
    // Up to the first record of another thread.
    RunOrder other{~format::Stamp{0}, ~0u};
    if (count > 1) other = order_of(runs[1]);
    if (count > 2 && order_of(runs[2]) < other) other = order_of(runs[2]);
    do {
      if (run.next + 2 * kAhead < run.end) folded.expect_young(run.at(run.next + 2 * kAhead));
      if (run.next + kAhead < run.end) folded.expect_old(run.at(run.next + kAhead));
      const RingRecord& record = run.at(run.next);
      folded.apply(run.thread, record);
      ++run.next;
      if (windows)
        folded.level_error().add_record(record, run.next == run.end ? nullptr : &run.at(run.next),
                                        folded.levels()[0][rollup::live]);
      if (run.next == run.end) break;
      run.stamp = run.at(run.next).stamp;
    } while (order_of(run) < other);
    if (run.next == run.end) {
      __atomic_store_n(&run.slot->tail, run.end, __ATOMIC_RELEASE);
      run = runs[--count];
    }
    runs[0] = run;
    if (count != 0) sink(0, count);
  }
  if (windows) folded.level_error().pass_ends(all);
  folded.passed(all);
}

Passed worse(Passed a, Passed b) {
  return static_cast<int>(a) > static_cast<int>(b) ? a : b;
}

void publish_own_bytes() {
  ring_header()->own_bytes = own_bytes();
  if (folded.attached()) folded.header().own_bytes = ring_header()->own_bytes;
}

// By now all records before the cut are visible, and all records that they depend on: a birth is recorded
// before its block can die.
Passed pass_all(bool last) {
  const format::Stamp cut = draw_cut();
  Passed result = Passed::all;
  const std::uint64_t until = os::monotonic_ns() + kEndNs;
  std::uint32_t used = 0;
  for (std::uint32_t i = 0, count = slots_made(); i < count; ++i) {
    RingSlot* const slot = slot_at(i);
    if (last && os::monotonic_ns() > until) { // on a program's thread; the ring file has the rest
      result = Passed::failed;
      break;
    }
    if (__atomic_load_n(&slot->tid, __ATOMIC_ACQUIRE) == 0) continue;
    result = worse(result, append(slot, ring_of(i), said_in[i], cut, last, &runs[used]));
    if (runs[used].end != runs[used].next) {
      ++used;
    } else {
      take_back_if_short(i);
    }
  }
  write_late();
  const format::LostBlocks lost = lost_blocks_so_far();
  folded.lost(lost.births, lost.deaths);
  fold_runs(used, result == Passed::all);
  settle_rings();
  return result;
}

// The caller holds the pass lock.
template <class Pass>
Passed in_file(bool last, Pass pass) {
  if (!rotate_if_due() && events_room(last) < sizeof(format::SegmentHeader) + format::kMaxCoded)
    return Passed::failed;
  const Passed result = pass();
  publish_own_bytes();
  return result;
}

template <class Pass>
Passed within_bounds(bool last, Pass pass) {
  if (os::calls_are_stopped()) return Passed::failed;
  if (!last && __atomic_load_n(&at_bound, __ATOMIC_RELAXED)) return Passed::no_room;
  if (!last && os::monotonic_ns() < __atomic_load_n(&not_before, __ATOMIC_RELAXED)) return Passed::failed;
  if (fork_mark->here == 0) return Passed::busy; // a forked child that has not noticed the fork
  const Locked locked(pass_lock);
  if (!locked) return Passed::busy;
  const Passed result = in_file(last, pass);
  if (result == Passed::no_room) __atomic_store_n(&at_bound, true, __ATOMIC_RELAXED);
  if (result == Passed::failed) __atomic_store_n(&not_before, os::monotonic_ns() + kRetryNs, __ATOMIC_RELAXED);
  return result;
}

} // namespace

bool prepare_pass() {
  if (buffer == nullptr) buffer = static_cast<std::uint8_t*>(os::map_private(kBufferBytes));
  if (runs == nullptr) runs = static_cast<PendingRun*>(os::map_private(format::kMaxSlots * sizeof(PendingRun)));
  return buffer != nullptr && runs != nullptr;
}

void forget_pass() {
  not_before = 0;
  at_bound = false;
  forget_models();
  for (std::uint32_t i = 0; i < said_slots; ++i) said_in[i] = 0;
  said_slots = 0;
}

void forget_pass_errors() {
  __atomic_store_n(&not_before, 0u, __ATOMIC_RELAXED);
}

void slot_claimed(std::uint32_t index) {
  if (index >= said_slots) said_slots = index + 1;
  __atomic_store_n(&said_in[index], 0u, __ATOMIC_RELAXED);
}

Passed pass(bool last) {
  return within_bounds(last, [last] { return pass_all(last); });
}

Passed pass_over(RingSlot* slot, const Ring& ring) {
  return within_bounds(false, [&] {
    std::uint32_t said = 0;
    const Passed result = append(slot, ring, said, draw_cut(), false, &runs[0]);
    write_late();
    fold_runs(runs[0].end != runs[0].next ? 1 : 0, false);
    return result;
  });
}

} // namespace memtrace::record
