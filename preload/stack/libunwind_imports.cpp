// Purpose: points the imports of libunwind at functions that a hook may call (docs/decisions/0005).
// Runs: in the constructor; the functions run inside the program's malloc.
#include "preload/stack/libunwind_imports.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstring>

#include "preload/bounded/fork_locks.h"
#include "preload/os/gate/raw_call.h"
#include "preload/os/libc/elf_tables.h"
#include "preload/os/mappings.h"
#include "preload/os/recorder_mappings.h"
#include "preload/stack/loaded_modules.h"

namespace memtrace::record {
namespace {

constinit bool searched = false;
constinit bool sound = true;
constinit std::uint64_t mapped_bytes = 0;
thread_local constinit bool in_walk = false;
thread_local constinit bool holds_pools = false;
thread_local constinit std::uint8_t lock_depth = 0; // mutexes of the library that the thread holds

void lose_pools() {
  __atomic_store_n(&sound, false, __ATOMIC_RELAXED);
}

// Instead of all mutexes of the library, which guard lists of free memory. A mutex that a thread held during a
// fork would stay locked in the child. If this lock was held, the child cannot use these lists.
constinit SpinLock pools_lock;
REGISTER_LOCK(pools_lock, &lose_pools);

using Visit = int (*)(dl_phdr_info* info, std::size_t bytes, void* data);

// The functions that are replaced.
struct Replaced {
  int (*search)(Visit visit, void* data);
  int (*open)(const char* path, int flags, ...);
  int (*close)(int fd);
  ssize_t (*read)(int fd, void* out, std::size_t bytes);
  ssize_t (*write)(int fd, const void* from, std::size_t bytes);
  void* (*map)(void* at, std::size_t bytes, int access, int flags, int fd, off_t offset);
  int (*unmap)(void* at, std::size_t bytes);
  int (*mask_signals)(int how, const sigset_t* set, sigset_t* before);
  long (*system_call)(long number, ...);
  int (*make_pipe)(int* ends, int flags);
  int (*in_memory)(void* at, std::size_t bytes, unsigned char* out);
  int (*synchronise)(void* at, std::size_t bytes, int flags);
  int (*lock)(void* mutex);
  int (*unlock)(void* mutex);
};
constinit Replaced replaced{};

// dl_iterate_phdr takes the loader's lock: a thread in dlopen that waits for a thread in malloc would hang
// (memray#662). libunwind passes a struct of its own as `data`. Its first field is the address to find.
int search_module(Visit visit, void* data) {
  if (!in_walk) return replaced.search(visit, data);
  std::uint64_t address;
  std::memcpy(&address, data, sizeof address);
  dl_find_object object{};
  if (!find_object(address, &object)) return 0;
  const auto* const base = static_cast<const char*>(object.dlfo_map_start);
  const auto* const elf = reinterpret_cast<const ElfW(Ehdr)*>(base);
  if (std::memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0) return 0;
  searched = true;
  dl_phdr_info info{};
  info.dlpi_addr = object.dlfo_link_map->l_addr;
  info.dlpi_name = object.dlfo_link_map->l_name;
  info.dlpi_phdr = reinterpret_cast<const ElfW(Phdr)*>(base + elf->e_phoff);
  info.dlpi_phnum = elf->e_phnum;
  return visit(&info, sizeof info, data);
}

// To test an address, libunwind writes one byte from it into a pipe, and keeps the pipe open. If it opened this
// pipe, the first descriptor of the program would be 5.
constexpr int kNoPipe = -1;
int make_no_pipe(int* ends, int) {
  ends[0] = ends[1] = kNoPipe;
  return 0;
}
ssize_t read_pipe(int fd, void* out, std::size_t bytes) {
  return fd == kNoPipe ? 1 : replaced.read(fd, out, bytes);
}
ssize_t write_pipe(int fd, const void* from, std::size_t bytes) {
  if (fd != kNoPipe) return replaced.write(fd, from, bytes);
  if (os::is_readable(from)) return 1;
  errno = EFAULT;
  return -1;
}
int close_pipe(int fd) {
  return fd == kNoPipe ? 0 : replaced.close(fd);
}
// libunwind uses syscall() only to write. Calls with other numbers go to the original.
long write_by_system_call(long number, long fd, const void* from, std::size_t bytes, long d, long e, long f) {
  if (number != SYS_write) return replaced.system_call(number, fd, from, bytes, d, e, f);
  return write_pipe(static_cast<int>(fd), from, bytes);
}
int test_pages(void* at, std::size_t, unsigned char* out) {
  *out = 1;
  if (os::is_readable(at)) return 0;
  errno = ENOMEM;
  return -1;
}
int test_synchronised(void* at, std::size_t, int) {
  if (os::is_readable(at)) return 0;
  errno = ENOMEM;
  return -1;
}

// In a walk, libunwind would open files to look for debug information.
int open_nothing(const char* path, int flags, int mode) {
  if (!in_walk) return replaced.open(path, flags, mode);
  errno = ENOENT;
  return -1;
}

void* map_own(void* at, std::size_t bytes, int access, int flags, int fd, off_t offset) {
  if (!in_walk) return replaced.map(at, bytes, access, flags, fd, offset);
  void* const out = fd < 0 ? os::map_private(bytes) : nullptr;
  if (out != nullptr) {
    __atomic_fetch_add(&mapped_bytes, bytes, __ATOMIC_RELAXED);
    return out;
  }
  errno = ENOMEM;
  return MAP_FAILED;
}
bool is_own(const void* at) {
  for (const NotedRange& range : own_ranges())
    if (__atomic_load_n(&range.start, __ATOMIC_ACQUIRE) == reinterpret_cast<std::uint64_t>(at)) return true;
  return false;
}
// A thread that ends unmaps its cache outside of a walk.
int unmap_own(void* at, std::size_t bytes) {
  if (!is_own(at)) return replaced.unmap(at, bytes);
  os::unmap(at, bytes);
  __atomic_fetch_sub(&mapped_bytes, bytes, __ATOMIC_RELAXED);
  return 0;
}

// While a thread holds a lock of the library, no handler interrupts it.
int mask_signals(int how, const sigset_t* set, sigset_t* before) {
  if (!in_walk) return replaced.mask_signals(how, set, before);
  constexpr long kSetBytes = 8;
  return os::call(SYS_rt_sigprocmask, how, os::word(set), os::word(before), kSetBytes) < 0 ? -1 : 0;
}
int lock_pools(void*) {
  if (lock_depth++ != 0) return 0;
  holds_pools = pools_lock.lock();
  if (!holds_pools) lose_pools(); // its holder will not return
  return 0;
}
int unlock_pools(void*) {
  if (--lock_depth == 0 && holds_pools) pools_lock.unlock();
  return 0;
}

struct Redirection {
  const char* name;
  void* to;
  void* original; // where the replaced function is kept
  bool must;      // without it the library is not used
};

template <class Function, class Original>
Redirection redirect(const char* name, Function* to, Original* original, bool must = false) {
  return {name, reinterpret_cast<void*>(to), original, must};
}

constexpr int kImports = 14;

// Returns the imports that were redirected, one bit each.
std::uint32_t redirect_table(const link_map* library, const Dynamic& object, int table,
                             const Redirection* imports) {
  std::uint32_t done = 0;
  for (std::size_t i = 0; i < object.bytes[table] / sizeof(ElfW(Rela)); ++i) {
    const ElfW(Rela)& relocation = object.tables[table][i];
    const char* const name = object.names + object.symbols[ELF64_R_SYM(relocation.r_info)].st_name;
    auto* const entry = reinterpret_cast<void**>(library->l_addr + relocation.r_offset);
    for (int at = 0; at < kImports; ++at) {
      if (std::strcmp(name, imports[at].name) != 0 || !os::make_writable(entry, sizeof *entry)) continue;
      std::memcpy(imports[at].original, entry, sizeof *entry);
      *entry = imports[at].to;
      done |= 1u << at;
    }
  }
  return done;
}

} // namespace

bool redirect_imports(const link_map* library) {
  Replaced& was = replaced;
  const Redirection imports[kImports] = {
      redirect("dl_iterate_phdr", &search_module, &was.search, true),
      redirect("pthread_mutex_lock", &lock_pools, &was.lock, true),
      redirect("pthread_mutex_unlock", &unlock_pools, &was.unlock, true),
      redirect("mmap", &map_own, &was.map, true),
      redirect("munmap", &unmap_own, &was.unmap),
      redirect("sigprocmask", &mask_signals, &was.mask_signals),
      redirect("pipe2", &make_no_pipe, &was.make_pipe),
      redirect("read", &read_pipe, &was.read),
      redirect("write", &write_pipe, &was.write),
      redirect("syscall", &write_by_system_call, &was.system_call),
      redirect("close", &close_pipe, &was.close),
      redirect("open", &open_nothing, &was.open),
      redirect("mincore", &test_pages, &was.in_memory),
      redirect("msync", &test_synchronised, &was.synchronise),
  };
  const Dynamic object(library);
  if (!object.complete()) return false;
  std::uint32_t done = 0;
  for (int table = 0; table < 2; ++table) done |= redirect_table(library, object, table, imports);
  for (int at = 0; at < kImports; ++at)
    if (imports[at].must && (done >> at & 1) == 0) return false;
  return true;
}

bool searched_by_redirection() {
  return searched;
}

bool shared_memory_is_sound() {
  return __atomic_load_n(&sound, __ATOMIC_RELAXED);
}

std::uint64_t libunwind_bytes() {
  return __atomic_load_n(&mapped_bytes, __ATOMIC_RELAXED);
}

InWalk::InWalk() {
  in_walk = true;
}
InWalk::~InWalk() {
  in_walk = false;
}
bool InWalk::is_open() {
  return in_walk;
}

} // namespace memtrace::record
