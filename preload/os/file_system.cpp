// Purpose: finds the medium of a directory (disk, memory or network), and tests whether a file there can grow.
// Runs: when recording begins.
#include "preload/os/file_system.h"

#include <cerrno>

#include "preload/format/file_systems.h"
#include "preload/os/files.h"
#include "preload/os/paths.h"

namespace memtrace::record {

Medium medium_of(const char* directory) {
  const long type = os::file_system_at(directory);
  if (type < 0 && type > -4096) return Medium::network;
  if (format::is_network(static_cast<std::uint32_t>(type))) return Medium::network;
  return format::is_memory(static_cast<std::uint32_t>(type)) ? Medium::memory : Medium::disk;
}

long try_room(long fd, std::uint64_t bytes) {
  const long result = os::reserve(fd, 0, bytes);
  if (result == 0) return os::cut(fd, 0);
  // EPERM: the seccomp filter of a container refuses only fallocate.
  if (result != -EOPNOTSUPP && result != -ENOSYS && result != -EPERM) return result;
  return os::free_bytes(fd) < bytes ? -ENOSPC : 0;
}

} // namespace memtrace::record
