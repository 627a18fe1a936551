// Purpose: maps memory for the recorder, and reads memory of the program safely.
// Runs: on any thread, also on threads that glibc does not know.
#include "preload/os/mappings.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "preload/os/gate/raw_call.h"
#include "preload/os/libc/valgrind.h"
#include "preload/os/recorder_mappings.h"
#include "preload/os/threads.h"

namespace memtrace::record::os {

long pages_in_memory(std::uint64_t start, std::size_t bytes, std::uint8_t* out) {
  return call(SYS_mincore, static_cast<long>(start), static_cast<long>(bytes), word(out));
}
namespace {
constinit bool locks_new = false;

// Maps readable and writable memory that is not locked.
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
  own_stays_behind(reinterpret_cast<void*>(p)); // all tables that grow are MADV_DONTFORK
  return reinterpret_cast<void*>(p);
}
long advise(void* address, std::size_t bytes, int advice) {
  if (advice == MADV_DONTFORK) own_stays_behind(address);
  return call(SYS_madvise, word(address), static_cast<long>(bytes), advice);
}

// The call changes no signal mask, because its first argument is invalid. The kernel reads the set before it
// rejects the argument, so EINVAL means that the address is readable.
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

} // namespace memtrace::record::os
