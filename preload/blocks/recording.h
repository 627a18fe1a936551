// Purpose: the one bridge from a hook to the recorder.
// Runs: inside the program's malloc.
#pragma once

#include <errno.h>

#include "preload/record/emit.h"
#include "preload/state/loss_counters.h"
#include "preload/state/new_record.h"
#include "preload/state/recorder_state.h"
#include "preload/state/settings.h"
#include "preload/state/thread.h"

namespace memtrace::record {

// What a hook knows of a block.
struct HookedBlock {
  std::uint64_t address;
  std::uint64_t given;
  std::uint64_t asked;
  format::Kind kind;
  std::uint16_t flags = 0; // kTensor, kNoAccess, kRange, kReleased
  unsigned memory = 0;     // 0 host, n device n-1
};

// Why there is no block.
struct Refusal {
  std::uint32_t code;                    // errno; of CUDA its error
  std::uint32_t map_flags = 0;           // MAP_*
  std::uint64_t free = format::kNotSaid; // of a device
  std::uint64_t total = format::kNotSaid;
};

// Marks this thread as inside the recorder while it lives, and keeps errno. False: the thread is there already
// (a signal handler that allocates, the unwinder that maps), or nothing is recorded.
class Recording {
 public:
  Recording() : entered_(active() && local.busy == 0) {
    if (!entered_) return;
    local.busy = 1;
    asm volatile("" ::: "memory");
    errno_ = errno;
  }
  ~Recording() {
    if (!entered_) return;
    errno = errno_;
    asm volatile("" ::: "memory");
    local.busy = 0;
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  explicit operator bool() const { return entered_; }

  // Stamp drawn here, after the real call.
  void born(const HookedBlock& block) const;
  // `death` was drawn before the real call; written before it where the call cannot fail (free), else after.
  void died(const HookedBlock& block, format::Stamp death) const;
  // A realloc or mremap that succeeded. `given_before` of the old block.
  void moved(std::uint64_t from, std::uint64_t given_before, const HookedBlock& to, format::Stamp death) const;
  // The real call gave nothing, for want of memory: `block` as it would have been, without an address.
  void failed(const HookedBlock& block, const Refusal& why) const;
  // Small flows that no record has carried for a while.
  void tick() const;
  // Records `event`, stamped now.
  template <class Event>
  void mark(const Event& event, std::uint16_t flags = 0) const {
    format::RingRecord record = record_of(event);
    record.flags = flags;
    emit(record);
  }
  // "key=value".
  void note(const char* text, std::size_t bytes) const;
  // A device is in use: who counts its memory, "hooks" or "cupti".
  void device(unsigned memory, const char* source) const;

 private:
  bool entered_;
  int errno_ = 0;
};

// A hook of the heap that finds the recorder busy: an event of a signal handler's is lost, one of our own is
// none.
inline bool event_is_lost() {
  if (!active() || local.busy == 0) return false;
  lost(format::Loss::reentered);
  return true;
}
// The same of a block. Bytes as given, 0 for none.
inline void block_not_recorded(std::uint64_t born, std::uint64_t died, bool tensor = false) {
  if (event_is_lost()) lost_heap_block(born, died, tensor);
}

} // namespace memtrace::record
