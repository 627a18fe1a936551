// Purpose: a file that the background thread opens once and keeps open.
// Runs: on any thread.
#pragma once

#include <cstdint>

#include "preload/os/files.h"

namespace memtrace::record::os {

// The background thread has its own table of descriptors, so the program does not see its open files. With an
// open for each use, training steps of 50 ms made 84 opens a second, and these took 0.3 % of the CPU time.
// Other threads open the file for each use. Several threads may use one object. Only the background thread
// changes it.
class KeptFile {
 public:
  // Return a descriptor, or the error of open_kernel() or open_own(). The caller then calls end_use().
  long open_kernel(const char* path);
  // Opens the file again if the path is another one, if the file was removed, or if it now belongs to another
  // user. A file on a server is not kept: other hosts see its bytes when it is closed.
  long open_own(const char* path, For use);
  void end_use(long fd);

 private:
  bool is_kept() const;
  long keep(long fd, std::uint64_t path_hash);
  bool is_on_server(long fd, std::uint64_t path_hash);

  std::uint64_t path_hash_ = 0; // with the use
  std::uint64_t on_server_ = 0; // hash of the last path that was found on a server
  std::uint32_t table_ = 0;     // the table of descriptors that has the file; 0: the file is not open
  std::int32_t fd_ = 0;
};

} // namespace memtrace::record::os
