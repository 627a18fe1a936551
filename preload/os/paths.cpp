// Purpose: operations on the paths of files and directories, and on the file systems that contain them.
// Runs: on any thread, also on threads that glibc does not know.
#include "preload/os/paths.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "preload/os/gate/raw_call.h"

namespace memtrace::record::os {

long unlink(const char* path) {
  return call(SYS_unlinkat, AT_FDCWD, word(path), 0);
}
long rename(const char* from, const char* to) {
  return call(SYS_renameat2, AT_FDCWD, word(from), AT_FDCWD, word(to), 0);
}
long make_directory(const char* path, unsigned mode) {
  return call(SYS_mkdirat, AT_FDCWD, word(path), static_cast<long>(mode));
}
long remove_directory(const char* path) {
  return call(SYS_unlinkat, AT_FDCWD, word(path), AT_REMOVEDIR);
}
long read_directory(long fd, void* entries, std::size_t bytes) {
  return call(SYS_getdents64, fd, word(entries), static_cast<long>(bytes));
}

long size_of(const char* path) {
  struct stat info {};
  const long result = call(SYS_newfstatat, AT_FDCWD, word(path), word(&info), 0);
  return result < 0 ? result : static_cast<long>(info.st_size);
}
std::uint64_t modified_ns(const char* path) {
  struct stat info {};
  if (call(SYS_newfstatat, AT_FDCWD, word(path), word(&info), 0) < 0) return 0;
  return static_cast<std::uint64_t>(info.st_mtim.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(info.st_mtim.tv_nsec);
}
long read_link(const char* path, char* out, std::size_t capacity) {
  return call(SYS_readlinkat, AT_FDCWD, word(path), word(out), static_cast<long>(capacity));
}
long file_system_of(int fd) {
  struct statfs info {};
  const long result = call(SYS_fstatfs, fd, word(&info));
  return result < 0 ? result : static_cast<long>(info.f_type);
}
long file_system_at(const char* path) {
  struct statfs info {};
  const long result = call(SYS_statfs, word(path), word(&info));
  return result < 0 ? result : static_cast<long>(info.f_type);
}
std::uint64_t free_bytes(long fd) {
  struct statfs info {};
  if (call(SYS_fstatfs, fd, word(&info)) < 0 || info.f_blocks == 0) return ~std::uint64_t{0};
  return static_cast<std::uint64_t>(info.f_bavail) * static_cast<std::uint64_t>(info.f_bsize);
}
bool tmpfs_use(const char* path, std::uint64_t* used, std::uint64_t* size) {
  struct statfs info {};
  if (call(SYS_statfs, word(path), word(&info)) < 0 || info.f_type != TMPFS_MAGIC) return false;
  const auto block = static_cast<std::uint64_t>(info.f_bsize);
  *used = static_cast<std::uint64_t>(info.f_blocks - info.f_bfree) * block;
  *size = static_cast<std::uint64_t>(info.f_blocks) * block;
  return true;
}
bool exists(const char* path) {
  return call(SYS_faccessat, AT_FDCWD, word(path), 0) == 0;
}

namespace {
long stat_at(const char* path, int flags, FileStatus* out) {
  struct stat info {};
  const long result = call(SYS_newfstatat, AT_FDCWD, word(path), word(&info), flags);
  *out = {info.st_mode, info.st_uid};
  return result;
}
} // namespace

long look_at(const char* path, FileStatus* out) {
  return stat_at(path, 0, out);
}
long look_at_link(const char* path, FileStatus* out) {
  return stat_at(path, AT_SYMLINK_NOFOLLOW, out);
}
bool working_directory(char* out, std::size_t capacity) {
  return call(SYS_getcwd, word(out), static_cast<long>(capacity)) > 0 && out[0] == '/';
}

} // namespace memtrace::record::os
