// Purpose: decides whether the recorder may make system calls.
// Runs: before each system call of the recorder.
#pragma once

#include <cstdint>

namespace memtrace::record::os {

// 0: all calls are allowed; 1: all but opens; 2: none.
[[gnu::visibility("hidden")]] extern constinit std::uint32_t call_stage;

inline bool calls_are_stopped() {
  return __atomic_load_n(&call_stage, __ATOMIC_ACQUIRE) == 2;
}

// Counts a system call as in progress during its lifetime. False if the call is not allowed.
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

// Count the descriptors that the recorder has open.
void opened(long fd);
void closed();

// Return the number of calls in progress, and the number of descriptors that the recorder has open.
std::uint32_t calls_under_way();
std::uint32_t descriptors_open();
// In a forked child: sets both numbers to 0, because the parent's other threads do not exist there.
void forget_calls();

} // namespace memtrace::record::os
