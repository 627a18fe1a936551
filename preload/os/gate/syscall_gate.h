// Purpose: whether the recorder may make system calls.
// Runs: in front of each system call of the recorder.
#pragma once

#include <cstdint>

namespace memtrace::record::os {

inline constinit std::uint32_t call_stage = 0; // 0: all calls; 1: none that opens; 2: none

inline bool calls_are_stopped() {
  return __atomic_load_n(&call_stage, __ATOMIC_ACQUIRE) == 2;
}

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

// How many calls are under way, and how many descriptors the recorder has open.
std::uint32_t calls_under_way();
std::uint32_t descriptors_open();
// In a forked child: calls that other threads of the parent were in.
void forget_calls();

} // namespace memtrace::record::os
