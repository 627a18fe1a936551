// Purpose: a file that the background thread opens once and keeps open.
// Runs: on any thread.
#pragma once

#include <cstdint>

#include "preload/os/files.h"

namespace memtrace::record::os {

// The background thread has its own table of descriptors, so the program does not see its open files. With an
// open for each use, training steps of 50 ms made 84 opens a second, and these took 0.3 % of the CPU time.
// Other threads open the file for each use. Each object is used by one thread at a time, or by threads of which
// one is the background thread.
class KeptFile {
 public:
  // Return a descriptor, or the error of open_kernel() or open_own(). The caller then calls leave().
  long open_kernel(const char* path);
  // Opens the file anew if it has another path than the one before, was removed, or is not this user's any
  // more. A file on a server is not kept: other hosts see its bytes when it is closed.
  long open_own(const char* path, For use);
  void leave(long fd);

 private:
  bool is_kept() const;
  void keep(long fd, std::uint64_t name);

  std::uint64_t name_ = 0;  // hash of the path and the use
  std::uint32_t table_ = 0; // the table of descriptors that has it; 0: the file is not open
  std::int32_t fd_ = 0;
};

} // namespace memtrace::record::os
