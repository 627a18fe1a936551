// Purpose: whether a copy to a shared file system is under way, and whether it hangs.
// Runs: set on the thread that copies, read on any thread.
#pragma once

#include <cstdint>

namespace memtrace::record {

// Asked between two system calls of a copy. If it returns false, the copy ends there and continues later.
using GoOn = bool (*)();

// Marks a system call on the shared file system as under way while it exists.
class OnShared {
 public:
  OnShared();
  ~OnShared();
  OnShared(const OnShared&) = delete;
  OnShared& operator=(const OnShared&) = delete;
};

// True if such a call has been under way for more than 100 ms. The thread that copies cannot end before the
// kernel returns.
bool copy_hangs();
// Returns the time (os::monotonic_ns) at which the last such call ended.
std::uint64_t last_progress();
void forget_copy_state(); // in a forked child

} // namespace memtrace::record
