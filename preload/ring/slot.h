// Purpose: what the owner of a slot and other threads share: the hold on it, and which records are written out.
// Runs: inside the program's malloc, and in the drain.
#pragma once

#include "preload/format/file_headers.h"
#include "preload/os/threads.h"

namespace memtrace::record {

// Holds a slot while its thread writes or its ring is taken back. Returns false if the slot is held already.
inline bool try_hold(format::RingSlot* slot) {
  return __atomic_exchange_n(&slot->writing, 1u, __ATOMIC_ACQUIRE) == 0;
}
inline void release_if_unused(format::RingSlot* slot) {
  __atomic_store_n(&slot->writing, 0u, __ATOMIC_RELEASE);
}

// Holds a slot while it exists. Gives up if the current holder gets no processor.
class Writing {
 public:
  explicit Writing(format::RingSlot* slot) : slot_(slot) {
    for (int tries = 0; !try_hold(slot); ++tries) {
      if (tries == kPatience) {
        slot_ = nullptr;
        return;
      }
      if (tries < kSpins) {
        __builtin_ia32_pause();
      } else {
        os::yield();
      }
    }
  }
  ~Writing() {
    if (slot_ != nullptr) release_if_unused(slot_);
  }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
  explicit operator bool() const { return slot_ != nullptr; }

 private:
  static constexpr int kSpins = 64, kPatience = 1000;
  format::RingSlot* slot_;
};

// Returns how many records before `sequence` are not written out. The entries of earlier records may be
// overwritten, because passes no longer read them.
inline std::uint64_t waiting_in(const format::RingSlot* slot, std::uint64_t sequence) {
  return sequence - __atomic_load_n(&slot->tail, __ATOMIC_ACQUIRE);
}

// Returns the tail, which another thread may change at any time. It is good for comparisons only: the load does
// not order the records before it.
inline std::uint64_t tail_now(const format::RingSlot* slot) {
  return __atomic_load_n(&slot->tail, __ATOMIC_RELAXED);
}
inline bool drained(const format::RingSlot* slot) {
  return tail_now(slot) == __atomic_load_n(&slot->head, __ATOMIC_RELAXED);
}

} // namespace memtrace::record
