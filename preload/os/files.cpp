// Purpose: file access by raw system calls. They do not change errno, and no hook of memtrace or of another
// library runs in between.
// Runs: on any thread, also on threads that glibc does not know.
#include "preload/os/files.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>

#include "preload/os/gate/raw_call.h"
#include "preload/os/gate/write_signals.h"
#include "preload/os/threads.h"

namespace memtrace::record::os {

namespace {

constexpr long kSyncs = 8; // requests in progress at one time

// Opens a file, and counts its descriptor as one of the recorder's.
long open(const char* path, long flags, long mode = 0) {
  const long fd = call(SYS_openat, AT_FDCWD, word(path), flags, mode);
  opened(fd);
  return fd;
}

// The owner of the files that this process creates on a file system. The owner is not always this user: NFS
// maps root's files to another user, and FUSE may give all files one owner.
struct Creator {
  std::uint64_t device; // 0: this entry is free
  std::uint32_t user;
};
constinit Creator creators[4] = {};
constinit std::uint32_t next_creator = 0;

void remember_creator(long fd) {
  struct stat info {};
  if (call(SYS_fstat, fd, word(&info)) < 0) return;
  for (const Creator& one : creators)
    if (one.device == info.st_dev && one.user == info.st_uid) return;
  Creator& one = creators[__atomic_fetch_add(&next_creator, 1, __ATOMIC_RELAXED) % 4];
  one = {info.st_dev, info.st_uid};
}

bool is_ours(const struct stat& info) {
  if (info.st_nlink > 1) return false;
  if (info.st_uid == user()) return true;
  for (const Creator& one : creators)
    if (one.device == info.st_dev && one.user == info.st_uid) return true;
  return false;
}

// Returns a descriptor, a negative errno or kNotOurs. For a regular file, O_NONBLOCK only means that the open
// does not wait for a lease.
long open_regular(const char* path, int flags, bool own) {
  const long fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return fd;
  struct stat info {};
  long result = call(SYS_fstat, fd, word(&info));
  if (result == 0 && !S_ISREG(info.st_mode)) result = -ENXIO;
  if (result == 0 && own && !is_ours(info)) result = kNotOurs;
  if (result == 0) return fd;
  close(fd);
  return result;
}

} // namespace

long open_kernel(const char* path) {
  return open_regular(path, O_RDONLY, false);
}
long open_own(const char* path, For use) {
  const int flags = use == For::reading ? O_RDONLY : use == For::appending ? O_WRONLY | O_APPEND : O_RDWR;
  return open_regular(path, flags, true);
}
bool is_own(long fd) {
  struct stat info {};
  return call(SYS_fstat, fd, word(&info)) == 0 && info.st_nlink != 0 && is_ours(info);
}
long create(const char* path) {
  const long fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd >= 0) remember_creator(fd);
  return fd;
}
long open_directory(const char* path) {
  return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}
long close(long fd) {
  const long result = call(SYS_close, fd);
  if (result != -EPERM) closed();
  return result;
}

long read_all(long fd, void* data, std::size_t bytes) {
  auto* at = static_cast<char*>(data);
  std::size_t got = 0;
  while (got < bytes) {
    const long n = call(SYS_read, fd, word(at + got), static_cast<long>(bytes - got));
    if (n == -EINTR) continue;
    if (n < 0) return n;
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  return static_cast<long>(got);
}

long read_once(long fd, void* data, std::size_t bytes) {
  long n;
  do {
    n = call(SYS_read, fd, word(data), static_cast<long>(bytes));
  } while (n == -EINTR);
  return n;
}
long read_at(long fd, std::uint64_t offset, void* data, std::size_t bytes) {
  long n;
  do {
    n = call(SYS_pread64, fd, word(data), static_cast<long>(bytes), static_cast<long>(offset));
  } while (n == -EINTR);
  return n;
}
long control(long fd, unsigned long request, void* argument) {
  return call(SYS_ioctl, fd, static_cast<long>(request), word(argument));
}

long write_once(long fd, const void* data, std::size_t bytes) {
  return call(SYS_write, fd, word(data), static_cast<long>(bytes));
}

long write_all(long fd, const void* data, std::size_t bytes) {
  const NoWriteSignal quiet;
  const auto* at = static_cast<const char*>(data);
  std::size_t done = 0;
  while (done < bytes) {
    const long n = write_once(fd, at + done, bytes - done);
    if (n == -EINTR) continue;
    if (n <= 0) return n == 0 ? -EIO : n;
    done += static_cast<std::size_t>(n);
  }
  return static_cast<long>(done);
}

long write_pair(long fd, const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const NoWriteSignal quiet;
  const iovec parts[2] = {{const_cast<void*>(a), a_bytes}, {const_cast<void*>(b), b_bytes}};
  for (;;) {
    const long n = call(SYS_writev, fd, word(parts), 2);
    if (n != -EINTR) return n;
  }
}

long write_at(long fd, std::uint64_t offset, const void* data, std::size_t bytes) {
  const NoWriteSignal quiet;
  long n;
  do {
    n = call(SYS_pwrite64, fd, word(data), static_cast<long>(bytes), static_cast<long>(offset));
  } while (n == -EINTR);
  return n;
}

long reserve(long fd, std::uint64_t offset, std::uint64_t bytes) {
  const NoWriteSignal quiet;
  long result;
  do {
    result = call(SYS_fallocate, fd, 0, static_cast<long>(offset), static_cast<long>(bytes));
  } while (result == -EINTR);
  return result;
}

long allocate(long fd, std::uint64_t offset, std::uint64_t bytes) {
  long result = reserve(fd, offset, bytes);
  if (result != -EOPNOTSUPP && result != -ENOSYS && result != -EPERM) return result;
  // Some overlays and network file systems have no fallocate, and the seccomp filter of a container may refuse
  // it. Writing zeros allocates the blocks as well.
  static constexpr char zeros[4096] = {};
  result = call(SYS_lseek, fd, static_cast<long>(offset), 0);
  for (std::uint64_t done = 0; result >= 0 && done < bytes; done += sizeof zeros)
    result = write_all(fd, zeros, bytes - done < sizeof zeros ? bytes - done : sizeof zeros);
  return result < 0 ? result : 0;
}

long sync_later(std::uint64_t* context, long fd) {
  if (*context == 0) {
    const long result = call(SYS_io_setup, kSyncs, word(context));
    if (result < 0) return result;
  }
  iocb request{};
  request.aio_lio_opcode = IOCB_CMD_FDSYNC;
  request.aio_fildes = static_cast<std::uint32_t>(fd);
  iocb* const list[] = {&request};
  const long result = call(SYS_io_submit, static_cast<long>(*context), 1, word(list));
  return result == 1 ? 0 : result < 0 ? result : -EAGAIN;
}
long syncs_done(std::uint64_t context) {
  io_event events[kSyncs];
  const timespec now{};
  const long result = call(SYS_io_getevents, static_cast<long>(context), 0, kSyncs, word(events), word(&now));
  return result < 0 ? kSyncs : result; // an invalid context has no request in progress
}
long sync(long fd) {
  return call(SYS_fdatasync, fd);
}
void begin_writing_out(long fd) {
  call(SYS_sync_file_range, fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}
long cut(long fd, std::uint64_t bytes) {
  return call(SYS_ftruncate, fd, static_cast<long>(bytes));
}

} // namespace memtrace::record::os
