// Room: record. Runs inside the victim's malloc.
// Job: the one door from a hook to the recorder.
#pragma once

#include <errno.h>

#include "record/life.h"
#include "record/loss.h"
#include "record/recorder.h"
#include "record/settings.h"
#include "record/stamp.h"

namespace memtrace::record {

// What a hook knows of a block.
struct Block {
  std::uint64_t address;
  std::uint64_t given;
  std::uint64_t asked;
  format::Kind kind;
  std::uint16_t flags = 0; // kTensor, kNoAccess, kRange, kReleased
  unsigned memory = 0;     // 0 host, n device n-1
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
  void born(const Block& block) const;
  // `death` was drawn before the real call; written before it where the call cannot fail (free), else after.
  void died(const Block& block, format::Stamp death) const;
  // A realloc or mremap that succeeded. `given_before` of the old block.
  void moved(std::uint64_t from, std::uint64_t given_before, const Block& to, format::Stamp death) const;
  // Small flows that no record has carried for a while.
  void tick() const;
  void mark(format::EventType type, std::uint16_t flags, std::uint64_t w0, std::uint64_t w1 = 0,
            std::uint64_t w2 = 0, std::uint64_t w3 = 0) const;
  // A device is in use: who counts its memory, "hooks" or "cupti".
  void device(unsigned memory, const char* source) const;

 private:
  bool entered_;
  int errno_ = 0;
};

inline constexpr std::int64_t kTickBytes = 256 * 1024; // small flows between two records of a thread, at most

// A hook of the heap that finds the recorder busy: an event of a signal handler's is lost, one of our own is
// none.
inline void not_recorded() {
  if (active() && local.busy != 0) lost(format::Loss::reentered);
}

// The block is not small, or a tensor's: to be recorded by itself.
inline bool tracked(std::size_t usable) {
  return usable >= settings.exact_min;
}

inline void add_to(std::uint64_t& counter, std::uint64_t value) {
  // One instruction, so that a signal handler that allocates in between cannot lose its own.
  asm("addq %1, %0" : "+m"(counter) : "er"(value) : "cc");
}

void first_small_of_thread();

inline void small_flow(std::uint64_t format::SmallTotals::*bytes, std::uint64_t format::SmallTotals::*count,
                       std::size_t usable) {
  if (local.small == nullptr) [[unlikely]] {
    first_small_of_thread();
    if (local.small == nullptr) return; // counted as lost
  }
  // The counters may lie in a page that a child of a raw clone shares with its parent.
  if (alive != nullptr && *alive == 0) [[unlikely]] {
    if (const Recording here; here) notice_raw_fork();
  }
  add_to(local.small->*bytes, usable);
  add_to(local.small->*count, 1);
  local.countdown -= static_cast<std::int64_t>(usable);
  if (local.countdown < 0) [[unlikely]] {
    local.countdown = kTickBytes;
    if (const Recording here; here) here.tick();
  }
}
inline void small_born(std::size_t usable) {
  small_flow(&format::SmallTotals::allocated, &format::SmallTotals::births, usable);
}
inline void small_died(std::size_t usable) {
  small_flow(&format::SmallTotals::freed, &format::SmallTotals::deaths, usable);
}

} // namespace memtrace::record
