// Purpose: a file that the background thread opens once and keeps open.
// Runs: on any thread.
#include "preload/os/kept_file.h"

#include <fcntl.h>
#include <sys/statfs.h>

#include "preload/format/file_systems.h"
#include "preload/os/gate/raw_call.h"
#include "preload/os/threads.h"

namespace memtrace::record::os {

namespace {

constexpr int kFirstKept = 3; // a line for standard error must not get into a trace

std::uint64_t hash_of(const char* path, For use) {
  std::uint64_t hash = 0xCBF29CE484222325u + static_cast<std::uint64_t>(use);
  for (; *path != '\0'; ++path) hash = (hash ^ static_cast<std::uint8_t>(*path)) * 0x100000001B3u;
  return hash;
}

} // namespace

bool KeptFile::is_kept() const {
  const std::uint32_t own = own_descriptor_table();
  return own != 0 && __atomic_load_n(&table_, __ATOMIC_RELAXED) == own;
}

// Returns the descriptor to use. A kept one is not counted as open. Otherwise the recorder would wait for it
// before the program enters a sandbox.
long KeptFile::keep(long fd, std::uint64_t path_hash) {
  if (fd < kFirstKept) {
    const long higher = call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, kFirstKept);
    if (higher < 0) return fd;
    call(SYS_close, fd);
    fd = higher;
  }
  closed();
  path_hash_ = path_hash;
  fd_ = static_cast<std::int32_t>(fd);
  __atomic_store_n(&table_, own_descriptor_table(), __ATOMIC_RELAXED);
  return fd;
}

// Asks the server once for each path: NFS and FUSE answer by a request.
bool KeptFile::is_on_server(long fd, std::uint64_t path_hash) {
  if (path_hash == on_server_) return true;
  struct statfs info {};
  if (call(SYS_fstatfs, fd, word(&info)) == 0 && !format::is_network(static_cast<std::uint32_t>(info.f_type)))
    return false;
  on_server_ = path_hash;
  return true;
}

long KeptFile::open_kernel(const char* path) {
  if (is_kept()) return fd_;
  const long fd = os::open_kernel(path);
  return fd >= 0 && own_descriptor_table() != 0 ? keep(fd, 0) : fd;
}

long KeptFile::open_own(const char* path, For use) {
  if (own_descriptor_table() == 0) return os::open_own(path, use);
  const std::uint64_t hash = hash_of(path, use);
  if (is_kept()) {
    if (hash == path_hash_ && is_own(fd_)) return fd_;
    call(SYS_close, fd_);
    __atomic_store_n(&table_, 0u, __ATOMIC_RELAXED);
  }
  const long fd = os::open_own(path, use);
  return fd >= 0 && !is_on_server(fd, hash) ? keep(fd, hash) : fd;
}

void KeptFile::end_use(long fd) {
  if (!is_kept() || fd != fd_) os::close(fd);
}

} // namespace memtrace::record::os
