// Purpose: one ring per thread in the ring file, so that records survive the process.
// Runs: inside the program's malloc, and in the drain.
#include "preload/ring/ring.h"
#include "preload/os/clocks.h"

#include "preload/bounded/fork_locks.h"
#include "preload/os/threads.h"
#include "preload/ring/drain_pass.h"
#include "preload/ring/ring_file.h"
#include "preload/ring/ring_lease.h"
#include "preload/ring/slot.h"
#include "preload/ring/write_out.h"
#include "preload/state/doorbell.h"
#include "preload/state/loss_counters.h"
#include "preload/state/pauses.h"
#include "preload/trace/trace_file.h"
#include "preload/trace/trace_windows.h"

namespace memtrace::record {

using format::kRingRecords;
using format::RingRecord;
using format::RingSlot;

namespace {

// If rings become half full at shorter intervals than this, they fill fast.
constexpr std::uint64_t kFastNs = 8'000'000;
constexpr std::uint64_t kPassNs = 10'000'000; // a thread waits at most so long for a pass

constexpr std::uint32_t kReserveSlot = 0, kFirstOwn = 2;

constinit SpinLock shared_lock;
REGISTER_LOCK(shared_lock, nullptr);
// The thread as which threads without a slot record. shared_lock guards it.
constinit Thread shared{};
constinit std::uint32_t first_free = kFirstOwn; // all slots from kFirstOwn to here are taken
constinit bool reserve_open = false;
constinit std::uint64_t woken = 0;       // stamp at which a ring was half full last
constinit std::uint32_t file_number = 0; // counts the ring files of this process

// Returns the number of records at which the ring counts as full.
std::uint32_t capacity_of(std::uint32_t size) {
  return size > kRingReserve && !reserve_is_open() ? size - kRingReserve : size;
}

// Makes the thread count small blocks in `to`, starting from its counts so far. `to` is in `slot`, or is the
// thread's own.
void count_in(Thread& thread, format::SmallTotals& to, RingSlot* slot) {
  const format::SmallTotals& before = thread.slot != nullptr ? thread.slot->small : thread.own;
  const format::SmallTotals moved = before;
  to = moved;
  thread.slot = slot;
  if (local.thread != &thread) return;
  local.small = &to;
  asm volatile("" ::: "memory");
  // Adds what a signal handler counted during the move.
  add_to(to.allocated, before.allocated - moved.allocated);
  add_to(to.freed, before.freed - moved.freed);
  add_to(to.births, before.births - moved.births);
  add_to(to.deaths, before.deaths - moved.deaths);
}

// True if the thread's slot is in the current ring file. A failed exec leads to a new file.
bool in_current_file(const Thread& thread) {
  return thread.slot != nullptr && thread.ring_file == __atomic_load_n(&file_number, __ATOMIC_RELAXED);
}

// The caller holds the slots lock, under which slots change owners. find_slot() returns slots_made() if it
// finds none.
bool is_free(std::uint32_t index) {
  return __atomic_load_n(&slot_at(index)->tid, __ATOMIC_RELAXED) == 0;
}
std::uint32_t find_slot(const Thread& thread) {
  if (&thread == &shared) return kSharedSlot;
  if (reserve_is_open() && is_free(kReserveSlot)) return kReserveSlot;
  std::uint32_t index = first_free;
  while (index < slots_made() && !is_free(index)) ++index;
  first_free = index;
  return index;
}

// The caller holds the slots lock.
void replace_uncounted_bound(Thread& thread, std::uint64_t bytes) {
  const std::uint64_t before = thread.uncounted_file == file_number ? thread.uncounted_bound : 0;
  if (format::RingFileHeader* const header = ring_header(); header != nullptr && bytes != before)
    __atomic_fetch_add(&header->uncounted_bound, bytes - before, __ATOMIC_RELAXED);
  thread.uncounted_bound = bytes;
  thread.uncounted_file = file_number;
}

enum class SlotResult : std::uint8_t { made, no_slot, lost };

// Gives `thread` a slot: one that its last owner left, or a new one.
SlotResult claim(Thread& thread) {
  const Locked locked(slots_lock);
  if (!locked || ring_header() == nullptr) {
    lost(format::Loss::busy);
    return SlotResult::lost;
  }
  const std::uint32_t index = find_slot(thread);
  if (index == slots_made()) {
    set_short_of_rings(true);
    // One chunk is reserved for the longer ring of the shared slot.
    if (!add_slots(shared.ring_file == file_number ? 0 : 1)) {
      set_no_slots(true);
      return SlotResult::no_slot;
    }
  }
  RingSlot* const slot = slot_at(index);
  slot_claimed(index);
  RingRecord* const records = records_inside(slot);
  for (std::uint32_t i = 0; i < format::kSlotRecords; ++i)
    records[i].commit = 0; // the last owner's would look valid
  slot->thread = thread.index;
  __atomic_store_n(&slot->head, thread.sequence, __ATOMIC_RELAXED);
  __atomic_store_n(&slot->tail, thread.sequence, __ATOMIC_RELAXED);
  slot->writing = 0; // its ring word is 0 already
  count_in(thread, slot->small, slot);
  thread.slot_index = index;
  thread.ring = 0;
  thread.records = {records, format::kSlotRecords};
  thread.room_until = thread.sequence;
  thread.ring_file = file_number;
  __atomic_store_n(&slot->tid, thread.tid, __ATOMIC_RELEASE);
  replace_uncounted_bound(thread, 0);
  return SlotResult::made;
}

// Moves the waiting records to a longer ring. Returns false if the ring is the longest, or no longer one is
// free. The caller holds the slot.
bool grow(Thread& thread) {
  RingSlot* const slot = thread.slot;
  const std::uint32_t size = thread.records.size;
  if (size == format::kRingRecords) return false;
  const bool longer = size == format::kSlotRecords;
  const Locked locked(slots_lock);
  if (!locked || thread.ring_file != file_number) return false; // the lock guards ring_file
  const bool at_once = reserve_is_open() || (longer && &thread == &shared);
  const Spare spare = at_once ? Spare::none : longer ? Spare::quarter : Spare::half;
  const std::uint32_t ring = lease_ring(longer ? kLog2Longer : kLog2Longest, spare);
  if (ring == 0) {
    if (longer) set_short_of_rings(true);
    return false;
  }
  const std::uint32_t left = thread.ring;
  const Ring before = thread.records;
  const Ring after = ring_at(ring);
  const std::uint64_t waiting = waiting_in(slot, thread.sequence);
  std::uint64_t at = thread.sequence - (waiting < size ? waiting : size);
  for (; at != thread.sequence; ++at) after.records[at & (after.size - 1)] = before.records[at & (size - 1)];
  // This is one store: the file of a killed process has all waiting records in the old ring or in the new one.
  set_ring(thread.slot_index, ring);
  thread.ring = ring;
  thread.records = after;
  outgrow_ring(left);
  return true;
}

// Empties the slot of an abandoned ring file. No pass over the new file sees that slot.
Passed pass_old(Thread& thread) {
  const bool same = thread.slot->ring == thread.ring; // otherwise the ring was drained and taken back
  return pass_over(thread.slot,
                   same ? thread.records : Ring{records_inside(thread.slot), format::kSlotRecords});
}

// Wakes the background thread if the ring fills slowly, because it then has time to empty the ring. A thread
// that fills its ring fast empties it itself. It has the ring in its cache, and would only wait for the
// background thread. With every block recorded, waking and waiting took 1.1 s of 13 s of a training run's CPU.
void wake_if_slow(format::Stamp now) {
  const std::uint64_t before = __atomic_exchange_n(&woken, now, __ATOMIC_RELAXED);
  if (now - before >= kFastNs) wake_drain();
}

// If a ring is as full after a pass as before, the record at its tail is unreadable (a stray write of the
// program). Gives up that record, so that the others are written.
void give_up_unreadable(RingSlot* slot, std::uint64_t sequence, std::uint32_t capacity) {
  const std::uint64_t waiting = waiting_in(slot, sequence);
  if (waiting < capacity) return;
  lost(format::Loss::memory);
  __atomic_store_n(&slot->tail, sequence - waiting + 1, __ATOMIC_RELAXED); // only the owner writes there
}

// True if another thread took the ring back. If the ring file was abandoned, returns false: the next record
// leaves that file. The caller holds the slot.
bool was_taken_back(const Thread& thread) {
  return ring_word(thread.slot_index) != thread.ring && in_current_file(thread);
}

// Leaves the ring of an abandoned file, then claims a slot in the current file.
[[gnu::cold]] SlotResult enter_file(Thread& thread) {
  if (thread.slot != nullptr) {
    if (!made_room(pass_old(thread))) return SlotResult::lost;
    count_in(thread, thread.own, nullptr);
  }
  if (there_are_no_slots() && &thread != &shared && !reserve_is_open()) return SlotResult::no_slot;
  return claim(thread);
}

// Appends a record to the shared ring. It refuses phases, because they would nest in phases of other threads.
[[gnu::cold]] bool append_shared(RingRecord& record) {
  const auto type = static_cast<format::EventType>(record.type);
  if (type == format::EventType::phase_begin || type == format::EventType::phase_end) {
    lost(format::Loss::bound);
    return false;
  }
  const Locked locked(shared_lock);
  if (!locked) {
    lost(format::Loss::busy);
    return false;
  }
  if (shared.index == 0) {
    shared.index = format::kSharedThread;
    shared.tid = static_cast<std::uint32_t>(os::process_id());
  }
  record.commit = format::kSharedThread;
  return ring_append(shared, record);
}

// Makes room for one more record. A ring that is half full grows, so that the drain has time to empty it. The
// caller holds the slot.
[[gnu::noinline]] bool make_room(Thread& thread, const RingRecord& record) {
  RingSlot* const slot = thread.slot;
  const std::uint64_t waiting = waiting_in(slot, thread.sequence);
  if (waiting == thread.records.size / 2 && !grow(thread)) wake_if_slow(record.stamp);
  std::uint64_t tail = thread.sequence - waiting;
  if (waiting >= capacity_of(thread.records.size) && !grow(thread)) {
    const std::uint64_t paused = os::monotonic_ns();
    const Passed passed = make_pass(slot);
    count_pause(os::monotonic_ns() - paused);
    if (!in_current_file(thread)) { // the pass was over the new file; the next record leaves the old one
      lost(format::Loss::busy);
      return false;
    }
    if (!made_room(passed)) return false;
    give_up_unreadable(slot, thread.sequence, capacity_of(thread.records.size));
    tail = thread.sequence - waiting_in(slot, thread.sequence);
  }
  const std::uint32_t half = thread.records.size / 2;
  thread.room_until = tail + (thread.sequence - tail < half ? half : capacity_of(thread.records.size));
  return true;
}

// Returns to the ring inside the slot. The thread was idle, so another thread got its longer ring.
[[gnu::cold]] void use_ring_inside(Thread& thread) {
  thread.ring = 0;
  thread.records = {records_inside(thread.slot), format::kSlotRecords};
  thread.room_until = thread.sequence;
}

// Frees the thread's slot. The caller holds the pass lock, and the ring is empty.
bool leave_slot(Thread& thread) {
  RingSlot* const slot = thread.slot;
  const Locked locked(slots_lock);
  if (!locked) return false;
  if (thread.ring_file == file_number) {
    give_back_ring(ring_word(thread.slot_index));
    set_ring(thread.slot_index, 0);
  }
  replace_uncounted_bound(thread, 0);
  thread.own = slot->small;
  thread.slot = nullptr;
  __atomic_store_n(&slot->tid, 0u, __ATOMIC_RELAXED); // the slots lock orders this before its next owner
  first_free = kFirstOwn;
  set_no_slots(false);
  return true;
}

} // namespace

bool renew_ring_file() {
  pass(true); // writes the records of other threads during the failed exec
  const Locked no_pass(pass_lock);
  const Locked no_claim(slots_lock);
  if (!no_pass || !no_claim) return false;
  static constinit Path again{};
  again = ring_path();
  return start_rings(again, ring_header()->trace_id);
}

bool start_rings(const Path& path, std::uint64_t trace_id) {
  if (!prepare_pass()) return false;
  // This comes first: a thread that misses its ring sees by the number that the ring was not taken back.
  __atomic_store_n(&file_number, file_number + 1, __ATOMIC_RELAXED);
  if (!create_ring_file(path, trace_id)) return false;
  first_free = kFirstOwn;
  reserve_open = false;
  set_short_of_rings(false);
  set_no_slots(false);
  forget_pass();
  return true;
}

void open_reserve() {
  __atomic_store_n(&reserve_open, true, __ATOMIC_RELAXED);
}
bool reserve_is_open() {
  return __atomic_load_n(&reserve_open, __ATOMIC_RELAXED);
}

bool ring_append(Thread& thread, RingRecord& record) {
  if (!in_current_file(thread)) {
    const SlotResult entry = enter_file(thread);
    if (entry != SlotResult::made) return entry == SlotResult::no_slot && append_shared(record);
  }
  RingSlot* const slot = thread.slot;
  const Writing held(slot);
  if (!held) {
    lost(format::Loss::busy);
    return false;
  }
  if (held_ring_word(thread.slot_index) != thread.ring && was_taken_back(thread)) use_ring_inside(thread);
  const std::uint64_t sequence = thread.sequence;
  if (sequence >= thread.room_until && !make_room(thread, record)) return false;
  RingRecord* const at = &thread.records.records[sequence & (thread.records.size - 1)];
  at->type = record.type;
  at->kind = record.kind;
  at->flags = record.flags;
  at->stamp = record.stamp;
  __builtin_memcpy(&at->payload, &record.payload, sizeof at->payload);
  __atomic_store_n(&at->commit, static_cast<std::uint32_t>(sequence + 1), __ATOMIC_RELEASE);
  thread.sequence = sequence + 1;
  __atomic_store_n(&slot->head, sequence + 1, __ATOMIC_RELAXED); // a hint: the commit words say what is there
  return true;
}

void drain_rings(bool essential) {
  if (ring_header() == nullptr) return;
  Passed result = Passed::some;
  for (int tries = 0; tries < 4 && result == Passed::some; ++tries) result = pass(essential);
  const std::uint64_t bytes = __atomic_load_n(&trace_file.bytes, __ATOMIC_RELAXED);
  __atomic_store_n(&ring_header()->trace_bytes, bytes, __ATOMIC_RELAXED); // threads may drain at once
}

bool set_uncounted_bound(Thread& thread, std::uint64_t bytes) {
  const Locked locked(slots_lock);
  if (locked && !in_current_file(thread)) replace_uncounted_bound(thread, bytes);
  return static_cast<bool>(locked);
}

bool rings_are_empty() {
  for (std::uint32_t i = 0; i < slots_made(); ++i)
    if (const RingSlot* const slot = slot_at(i);
        __atomic_load_n(&slot->tid, __ATOMIC_RELAXED) != 0 && !drained(slot))
      return false;
  return true;
}

bool ring_waits_for_pass(const Thread& thread) {
  return in_current_file(thread) && !drained(thread.slot);
}

bool pass_is_under_way() {
  return pass_lock.is_held();
}

bool ring_is_half_full(const Thread& thread) {
  return in_current_file(thread) && waiting_in(thread.slot, thread.sequence) >= thread.records.size / 2;
}

bool leave_old_file(Thread& thread) {
  if (thread.slot == nullptr || in_current_file(thread) || drained(thread.slot)) return true;
  return pass_old(thread) == Passed::all;
}

bool release_slot(Thread& thread) {
  RingSlot* const slot = thread.slot;
  if (slot == nullptr) return set_uncounted_bound(thread, 0);
  // A pass that saw the slot as owned must not meet its next owner.
  if (!drained(slot) || !pass_lock.lock_within(kPassNs)) return false;
  const bool released = drained(slot) && leave_slot(thread);
  pass_lock.unlock();
  return released;
}

bool has_ring(std::uint32_t thread) {
  for (std::uint32_t i = 0; i < slots_made(); ++i)
    if (const RingSlot* const slot = slot_at(i);
        __atomic_load_n(&slot->tid, __ATOMIC_ACQUIRE) != 0 && slot->thread == thread)
      return true;
  return false;
}

void forget_rings() {
  forget_ring_file();
  shared = {};
}

} // namespace memtrace::record
