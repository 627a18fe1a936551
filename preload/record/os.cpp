// Room: record. Runs on any thread, also on one that glibc does not know.
// Job: the system calls of the recorder, raw: no errno, no hook of ours or of others in between.
#include "preload/record/os.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>

#include <cerrno>

#include "preload/record/libc.h"
#include "preload/record/os_gate.h"
#include "preload/record/own_ranges.h"
#include "preload/record/valgrind.h"

#if !defined(__x86_64__) || !defined(__linux__)
#error "memtrace runs on x86-64 Linux only"
#endif

namespace memtrace::record::os {
namespace {

constexpr long kSyncs = 8; // under way at once

// Fails with EPERM once the program is in a sandbox.
long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  const Passage passage(number == SYS_openat);
  if (!passage) return -EPERM;
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

template <class T>
long word(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

// Holds back the signals that the kernel sends to a thread for what it writes, and takes them away again:
// SIGXFSZ past RLIMIT_FSIZE, SIGPIPE, SIGTTOU. Their default actions end or stop the process, and are meant for
// its own writes. One that the program itself holds back and that waits already is the program's: it stays.
class NoWriteSignal {
 public:
  NoWriteSignal() {
    call(SYS_rt_sigprocmask, SIG_BLOCK, word(&only_), word(&before_), sizeof only_);
    if ((only_ & before_) != 0) call(SYS_rt_sigpending, word(&theirs_), sizeof theirs_);
  }
  ~NoWriteSignal() {
    const timespec now{};
    const std::uint64_t ours = only_ & ~theirs_;
    if (ours != 0) call(SYS_rt_sigtimedwait, word(&ours), 0, word(&now), sizeof ours);
    call(SYS_rt_sigprocmask, SIG_SETMASK, word(&before_), 0, sizeof before_);
  }
  NoWriteSignal(const NoWriteSignal&) = delete;
  NoWriteSignal& operator=(const NoWriteSignal&) = delete;

 private:
  std::uint64_t only_ =
      std::uint64_t{1} << (SIGXFSZ - 1) | std::uint64_t{1} << (SIGPIPE - 1) | std::uint64_t{1} << (SIGTTOU - 1);
  std::uint64_t before_ = 0;
  std::uint64_t theirs_ = 0;
};

// A descriptor that the recorder has from now on.
long open(const char* path, long flags, long mode = 0) {
  const long fd = call(SYS_openat, AT_FDCWD, word(path), flags, mode);
  opened(fd);
  return fd;
}

// The owner of what this process creates on a file system. It is not always this user: NFS makes root's files
// another user's, and FUSE may give all files to one.
struct Creator {
  std::uint64_t device; // 0: none yet
  std::uint32_t user;
};
constinit Creator creators[4] = {};
constinit std::uint32_t next_creator = 0;

constinit int process = 0; // as long as the recorder could ask

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

// A descriptor, or a negative errno. O_NONBLOCK is nothing to a regular file but that a lease is not waited
// for.
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
long pages_in_memory(std::uint64_t start, std::size_t bytes, std::uint8_t* out) {
  return call(SYS_mincore, static_cast<long>(start), static_cast<long>(bytes), word(out));
}
long control(long fd, unsigned long request, void* argument) {
  return call(SYS_ioctl, fd, static_cast<long>(request), word(argument));
}

long write_once(long fd, const void* data, std::size_t bytes) {
  return call(SYS_write, fd, word(data), static_cast<long>(bytes));
}

namespace {
struct stat stderr_at_start {};
bool has_stderr = false;
bool looked = false;
} // namespace

void remember_stderr() {
  has_stderr = call(SYS_fstat, 2, word(&stderr_at_start)) == 0;
}

void say(const char* text, std::size_t bytes) {
  if (!looked) remember_stderr();
  struct stat now {};
  if (!has_stderr || call(SYS_fstat, 2, word(&now)) != 0 || now.st_dev != stderr_at_start.st_dev ||
      now.st_ino != stderr_at_start.st_ino)
    return;
  pollfd ready{2, POLLOUT, 0};
  if (call(SYS_poll, word(&ready), 1, 0) != 1 || (ready.revents & POLLOUT) == 0) return;
  const NoWriteSignal quiet;
  write_once(2, text, bytes);
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
  // No fallocate there (some overlays and network file systems), or a container's filter refuses it: write
  // zeros, which takes the blocks as well.
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
  return result < 0 ? kSyncs : result; // a context that is none has nothing under way
}
void begin_writing_out(long fd) {
  call(SYS_sync_file_range, fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}
long cut(long fd, std::uint64_t bytes) {
  return call(SYS_ftruncate, fd, static_cast<long>(bytes));
}
long unlink(const char* path) {
  return call(SYS_unlinkat, AT_FDCWD, word(path), 0);
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
std::uint64_t resource_limit(int resource) {
  rlimit limit{};
  if (call(SYS_prlimit64, 0, resource, 0, word(&limit)) < 0) return ~std::uint64_t{0};
  return limit.rlim_cur; // RLIM_INFINITY is all ones
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
long stat_at(const char* path, int flags, Look* out) {
  struct stat info {};
  const long result = call(SYS_newfstatat, AT_FDCWD, word(path), word(&info), flags);
  *out = {info.st_mode, info.st_uid};
  return result;
}
} // namespace

long look_at(const char* path, Look* out) {
  return stat_at(path, 0, out);
}
long look_at_link(const char* path, Look* out) {
  return stat_at(path, AT_SYMLINK_NOFOLLOW, out);
}
std::uint32_t user() {
  return static_cast<std::uint32_t>(call(SYS_geteuid));
}

namespace {
constinit bool locks_new = false;

// mmap with both accesses, of memory that is not locked.
long map(std::size_t bytes, int flags, long fd, std::uint64_t offset) {
  const bool locked = new_are_locked();
  const int access = PROT_READ | PROT_WRITE;
  const auto length = static_cast<long>(bytes);
  const long p = call(SYS_mmap, 0, length, locked ? PROT_NONE : access, flags, fd, static_cast<long>(offset));
  if (!locked || (p < 0 && p > -4096)) return p;
  call(SYS_munlock, p, length);
  const long result = call(SYS_mprotect, p, length, access);
  if (result == 0) return p;
  call(SYS_munmap, p, length);
  return result;
}
} // namespace

long lock(std::uint64_t start, std::uint64_t bytes, bool on_fault) {
  return call(SYS_mlock2, static_cast<long>(start), static_cast<long>(bytes), on_fault ? MLOCK_ONFAULT : 0);
}
long unlock(std::uint64_t start, std::uint64_t bytes) {
  return call(SYS_munlock, static_cast<long>(start), static_cast<long>(bytes));
}
void set_new_are_locked(bool are) {
  __atomic_store_n(&locks_new, are, __ATOMIC_RELAXED);
}
bool new_are_locked() {
  return __atomic_load_n(&locks_new, __ATOMIC_RELAXED);
}

void* map_private(std::size_t bytes) {
  const long p = map(bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p < 0 && p > -4096) return nullptr;
  exempt_from_races(reinterpret_cast<void*>(p), bytes);
  note_own(reinterpret_cast<void*>(p), bytes);
  return reinterpret_cast<void*>(p);
}
void* map_shared(long fd, std::uint64_t offset, std::size_t bytes) {
  const long p = map(bytes, MAP_SHARED, fd, offset);
  if (p < 0 && p > -4096) return nullptr;
  exempt_from_races(reinterpret_cast<void*>(p), bytes);
  return reinterpret_cast<void*>(p);
}
void unmap(void* address, std::size_t bytes) {
  forget_own(address);
  call(SYS_munmap, word(address), static_cast<long>(bytes));
}
void* extend(void* address, std::size_t bytes, std::size_t wanted) {
  const long p =
      call(SYS_mremap, word(address), static_cast<long>(bytes), static_cast<long>(wanted), MREMAP_MAYMOVE);
  if (p < 0 && p > -4096) return nullptr;
  exempt_from_races(reinterpret_cast<void*>(p), wanted);
  forget_own(address);
  note_own(reinterpret_cast<void*>(p), wanted);
  own_stays_behind(reinterpret_cast<void*>(p)); // the tables that grow are all of that kind
  return reinterpret_cast<void*>(p);
}
long advise(void* address, std::size_t bytes, int advice) {
  if (advice == MADV_DONTFORK) own_stays_behind(address);
  return call(SYS_madvise, word(address), static_cast<long>(bytes), advice);
}

// No signal set can be changed in an unknown way, but the kernel reads the set before it says so.
bool is_readable(const void* address) {
  return call(SYS_rt_sigprocmask, ~0, word(address), 0, sizeof(std::uint64_t)) == -EINVAL;
}
long copy_memory(void* out, const Piece* pieces, std::size_t count) {
  constexpr std::size_t kMost = 64;
  iovec from[kMost];
  if (count > kMost) count = kMost;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    from[i] = {const_cast<void*>(pieces[i].at), pieces[i].bytes};
    bytes += pieces[i].bytes;
  }
  const iovec to = {out, bytes};
  return call(SYS_process_vm_readv, process_id(), word(&to), 1, word(from), static_cast<long>(count), 0);
}
bool make_writable(void* address, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uint64_t>(address);
  const std::uint64_t start = at & ~std::uint64_t{4095};
  return call(SYS_mprotect, static_cast<long>(start), static_cast<long>(at + bytes - start),
              PROT_READ | PROT_WRITE) == 0;
}

void close_all_of_this_thread() {
  if (call(SYS_close_range, 0, ~0u, 0) == 0) return;
  for (int fd = 0; fd < 65536; ++fd) call(SYS_close, fd); // before Linux 5.9
}

bool working_directory(char* out, std::size_t capacity) {
  return call(SYS_getcwd, word(out), static_cast<long>(capacity)) > 0 && out[0] == '/';
}
bool host_name(char* out, std::size_t capacity) {
  utsname system{};
  if (call(SYS_uname, word(&system)) != 0) return false;
  std::size_t bytes = 0;
  for (; bytes + 1 < capacity && system.nodename[bytes] != '\0'; ++bytes) out[bytes] = system.nodename[bytes];
  out[bytes] = '\0';
  return true;
}
// In a sandbox the last answer: no fork ends there as another process that records.
int process_id() {
  const long id = call(SYS_getpid);
  if (id > 0) __atomic_store_n(&process, static_cast<int>(id), __ATOMIC_RELAXED);
  return id > 0 ? static_cast<int>(id) : __atomic_load_n(&process, __ATOMIC_RELAXED);
}
int parent_id() {
  return static_cast<int>(call(SYS_getppid));
}
int thread_id() {
  return static_cast<int>(call(SYS_gettid));
}
std::uint64_t voluntary_switches() {
  rusage usage{};
  call(SYS_getrusage, RUSAGE_THREAD, word(&usage));
  return static_cast<std::uint64_t>(usage.ru_nvcsw);
}
bool thread_exists(int tid) {
  return call(SYS_tgkill, process_id(), tid, 0) != -ESRCH;
}
void yield() {
  call(SYS_sched_yield);
}
void sleep_ns(std::uint64_t ns) {
  const timespec duration{static_cast<time_t>(ns / 1'000'000'000u), static_cast<long>(ns % 1'000'000'000u)};
  call(SYS_nanosleep, word(&duration), 0);
}
int clock_call(clockid_t clock, timespec* out) {
  return static_cast<int>(call(SYS_clock_gettime, clock, word(out)));
}
void futex_wait(const std::uint32_t* word_, std::uint32_t expected, std::uint64_t timeout_ns) {
  const timespec duration{static_cast<time_t>(timeout_ns / 1'000'000'000u),
                          static_cast<long>(timeout_ns % 1'000'000'000u)};
  call(SYS_futex, word(word_), FUTEX_WAIT, static_cast<long>(expected), word(&duration));
}
bool in_signal_handler() {
  std::uint64_t blocked = 0;
  if (call(SYS_rt_sigprocmask, SIG_BLOCK, 0, word(&blocked), sizeof blocked) < 0) return true;
  return (blocked & ~(std::uint64_t{1} << (SIGPIPE - 1))) != 0;
}
void futex_wake(const std::uint32_t* word_) {
  call(SYS_futex, word(word_), FUTEX_WAKE, 1);
}

long start_thread(void (*run)(void*), void* argument, void* stack, std::size_t stack_bytes, void* tls,
                  std::uint32_t* tid) {
  const Passage passage;
  if (!passage) return -EPERM;
  // The new thread starts with this one's mask: block everything around the clone.
  std::uint64_t all = ~std::uint64_t{0}, before = 0;
  call(SYS_rt_sigprocmask, SIG_BLOCK, word(&all), word(&before), sizeof all);
  // A descriptor table of its own: what it opens must not take a number that the program is about to be given.
  const long flags = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
                     CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  auto* top = reinterpret_cast<long*>(static_cast<char*>(stack) + stack_bytes) - 2;
  top[0] = word(argument);
  top[1] = reinterpret_cast<long>(run);
  long result;
  register std::uint32_t* r10 asm("r10") = tid;
  register void* r8 asm("r8") = tls;
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t" // the outermost frame
      "pop %%rdi\n\t"
      "pop %%rax\n\t"
      "call *%%rax\n\t"
      "xor %%edi, %%edi\n\t"
      "mov %[exit], %%eax\n\t" // this thread only
      "syscall\n\t"
      "1:"
      : "=a"(result)
      : "a"(SYS_clone), "D"(flags), "S"(top), "d"(tid), "r"(r10), "r"(r8), [exit] "i"(SYS_exit)
      : "rcx", "r11", "memory");
  call(SYS_rt_sigprocmask, SIG_SETMASK, word(&before), 0, sizeof before);
  return result;
}

} // namespace memtrace::record::os
