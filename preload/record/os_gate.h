// Room: record. In front of each system call of the recorder.
// Job: whether the recorder may make system calls.
#pragma once

#include <cstdint>

namespace memtrace::record::os {

// A program that installs a seccomp filter may have allowed none of the recorder's calls: an allow-list of
// seven calls killed the program with SIGSYS at the recorder's next sched_yield. So from the filter on all
// functions of os.h fail with EPERM in this process, and clocks go on without the kernel.

// What the program may still use to read the time. Strict mode takes the time stamp counter away too.
enum class Counter : std::uint8_t { readable, refused };

// Refuses to open files, waits a second at most for other threads to close theirs and to return from
// the kernel, then refuses all calls.
void stop_calls(Counter counter);
// The program's filter was not installed.
void allow_calls();
// The process began under such a filter, and is not recorded.
void never_call();

inline constinit std::uint32_t call_stage = 0; // 0: all calls; 1: none that opens; 2: none

inline bool calls_are_stopped() {
  return __atomic_load_n(&call_stage, __ATOMIC_ACQUIRE) == 2;
}

// In a forked child: calls that other threads of the parent were in.
void forget_calls();

// A system call, while it lives. False: it may not be made.
class Passage {
 public:
  explicit Passage(bool opens = false);
  ~Passage();
  Passage(const Passage&) = delete;
  Passage& operator=(const Passage&) = delete;
  explicit operator bool() const { return free_; }

 private:
  bool free_;
};

// Descriptors that the recorder has open.
void opened(long fd);
void closed();

// At the start of a life: from then on the time stamp counter is compared with the clock.
void begin_clock();

} // namespace memtrace::record::os
