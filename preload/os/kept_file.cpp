// Purpose: a file that the background thread opens once and keeps open.
// Runs: on any thread.
#include "preload/os/kept_file.h"

#include <sys/statfs.h>

#include "preload/format/file_systems.h"
#include "preload/os/gate/raw_call.h"
#include "preload/os/threads.h"

namespace memtrace::record::os {

namespace {

std::uint64_t name_of(const char* path, For use) {
  std::uint64_t hash = 0xCBF29CE484222325u + static_cast<std::uint64_t>(use);
  for (; *path != '\0'; ++path) hash = (hash ^ static_cast<std::uint8_t>(*path)) * 0x100000001B3u;
  return hash;
}

bool is_on_server(long fd) {
  struct statfs info {};
  return call(SYS_fstatfs, fd, word(&info)) < 0 || format::is_network(static_cast<std::uint32_t>(info.f_type));
}

} // namespace

bool KeptFile::is_kept() const {
  return table_ != 0 && table_ == own_descriptor_table();
}

// From here on, the descriptor is not counted as open: before a program enters a sandbox, it would wait for it.
void KeptFile::keep(long fd, std::uint64_t name) {
  closed();
  name_ = name;
  table_ = own_descriptor_table();
  fd_ = static_cast<std::int32_t>(fd);
}

long KeptFile::open_kernel(const char* path) {
  if (is_kept()) return fd_;
  const long fd = os::open_kernel(path);
  if (fd >= 0 && own_descriptor_table() != 0) keep(fd, 0);
  return fd;
}

long KeptFile::open_own(const char* path, For use) {
  const std::uint64_t name = name_of(path, use);
  if (is_kept()) {
    if (name == name_ && is_own(fd_)) return fd_;
    call(SYS_close, fd_);
    table_ = 0;
  }
  const long fd = os::open_own(path, use);
  if (fd >= 0 && own_descriptor_table() != 0 && !is_on_server(fd)) keep(fd, name);
  return fd;
}

void KeptFile::leave(long fd) {
  if (!is_kept() || fd != fd_) os::close(fd);
}

} // namespace memtrace::record::os
