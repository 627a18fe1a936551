// Purpose: takes longer rings back from threads that do not need them, if there are too few.
// Runs: inside the program's malloc, and in the drain.
#include "preload/ring/ring_lease.h"

#include "preload/bounded/fork_locks.h"
#include "preload/ring/ring_file.h"
#include "preload/ring/slot.h"

namespace memtrace::record {

using format::RingSlot;

constinit SpinLock slots_lock;
REGISTER_LOCK(slots_lock, nullptr);

namespace {

constinit bool short_of_rings = false;
constinit bool no_slots = false;

} // namespace

void set_short_of_rings(bool is_short) {
  __atomic_store_n(&short_of_rings, is_short, __ATOMIC_RELAXED);
}

void set_no_slots(bool none) {
  __atomic_store_n(&no_slots, none, __ATOMIC_RELAXED);
}
bool there_are_no_slots() {
  return __atomic_load_n(&no_slots, __ATOMIC_RELAXED);
}

void take_back_if_short(std::uint32_t index) {
  if (ring_word(index) == 0 || index == kSharedSlot || !__atomic_load_n(&short_of_rings, __ATOMIC_RELAXED))
    return;
  // The slot may be held only for a few instructions, because its thread waits meanwhile and could lose an
  // event.
  if (!slots_lock.try_lock()) return;
  RingSlot* const slot = slot_at(index);
  if (try_hold(slot)) {                 // otherwise its thread is writing
    if (slot->head == tail_now(slot)) { // `head` changes only while the slot is held
      give_back_ring(held_ring_word(index));
      set_ring(index, 0);
    }
    release_if_unused(slot);
  }
  slots_lock.unlock();
}

void settle_rings() {
  set_short_of_rings(false);
  set_no_slots(false);
  const Locked locked(slots_lock);
  if (locked) free_outgrown();
}

} // namespace memtrace::record
