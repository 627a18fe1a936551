// Purpose: the one bridge from a hook to the recorder.
// Runs: inside the program's malloc.
#pragma once

#include <errno.h>

#include "preload/record/emit.h"
#include "preload/stack/native_unwinder.h"
#include "preload/state/loss_counters.h"
#include "preload/state/new_record.h"
#include "preload/state/recorder_state.h"
#include "preload/state/settings.h"
#include "preload/state/thread.h"

namespace memtrace::record {

// The facts that a hook has about a block.
struct HookedBlock {
  std::uint64_t address;
  std::uint64_t given;
  std::uint64_t asked;
  format::Kind kind;
  std::uint16_t flags = 0; // kTensor, kNoAccess, kRange, kReleased
  unsigned memory = 0;     // 0 host, n device n-1
};

// The reason why the real call returned no block.
struct Refusal {
  std::uint32_t code;                    // errno, or the error of CUDA
  std::uint32_t map_flags = 0;           // MAP_*
  std::uint64_t free = format::kNotSaid; // of a device
  std::uint64_t total = format::kNotSaid;
};

// Marks this thread as inside the recorder during its lifetime, and preserves errno. Converts to false if the
// thread is inside already (a signal handler that allocates, the unwinder that maps), or if nothing is
// recorded.
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

  // Records a birth. Draws the stamp here, after the real call.
  void born(const HookedBlock& block) const;
  // Records a death. `death` was drawn before the real call. If the call cannot fail (free), the record is
  // written before it, else after it.
  void died(const HookedBlock& block, format::Stamp death) const;
  // Records a realloc or mremap that succeeded. `given_before`: the bytes given of the old block.
  void moved(std::uint64_t from, std::uint64_t given_before, const HookedBlock& to, format::Stamp death) const;
  // Records that the real call failed for lack of memory. `block`: the block that was asked for, without an
  // address.
  void failed(const HookedBlock& block, const Refusal& why) const;
  // Records the flows of small blocks that no record has carried for a while.
  void tick() const;
  // Records `event` with the present time as its stamp. Returns the stamp.
  template <class Event>
  format::Stamp mark(const Event& event, std::uint16_t flags = 0) const {
    format::RingRecord record = record_of(event);
    const format::Stamp stamp = record.stamp;
    record.flags = flags;
    emit(record);
    return stamp;
  }
  // Records a note, "key=value".
  void note(const char* text, std::size_t bytes) const;

 private:
  bool entered_;
  int errno_ = 0;
};

// Returns true, and counts a lost event, if the recorder is busy on this thread: then the caller is a signal
// handler, or the unwinder, whose blocks are not the program's.
inline bool event_is_lost() {
  if (!active() || local.busy == 0 || unwinder_may_allocate()) return false;
  lost(format::Loss::reentered);
  return true;
}
// Counts a block that was not recorded, if its event is lost. `born`, `died`: bytes given; 0: none.
inline void block_not_recorded(std::uint64_t born, std::uint64_t died, bool tensor = false) {
  if (event_is_lost()) lost_heap_block(born, died, tensor);
}

} // namespace memtrace::record
