// Purpose: hooks of mlock and mlockall. Memory that is locked after its allocation (DeepSpeed's pinned buffers)
// is marked, not counted again. mlockall locks the program's memory, not the recorder's.
// Runs: inside the program's mlock.
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "preload/api/export.h"
#include "preload/device/device_blocks.h"
#include "preload/hooks/symbols/find_symbol.h"
#include "preload/os/mappings.h"
#include "preload/os/threads.h"
#include "preload/os/timestamp.h"
#include "preload/process/memory_locks.h"
#include "preload/state/recorder_state.h"

#include "preload/os/gate/forbidden.h"

namespace record = memtrace::record;
namespace format = memtrace::format;

namespace {

using Lock = int (*)(const void*, std::size_t);
using LockSome = int (*)(const void*, std::size_t, unsigned);
constinit Lock real_mlock = nullptr;
constinit Lock real_munlock = nullptr;
constinit LockSome real_mlock2 = nullptr;
using LockAll = int (*)(int);
using UnlockAll = int (*)();
constinit LockAll real_mlockall = nullptr;
constinit UnlockAll real_munlockall = nullptr;

// Records a range that the program locked.
int record_locked(int result, const void* address, std::size_t n) {
  const int errno_after = errno;
  if (result == 0 && n != 0 && record::active())
    record::device_born({reinterpret_cast<std::uint64_t>(address), n, n, format::Kind::registered});
  errno = errno_after;
  return result;
}

int note_future_locks(int result, int flags) {
  if (result == 0) record::os::set_new_are_locked((flags & MCL_FUTURE) != 0);
  return result;
}

} // namespace

EXPORT int mlock(const void* address, std::size_t n) noexcept {
  if (real_mlock == nullptr) memtrace::hooks::find_next(&real_mlock, "mlock");
  return record_locked(real_mlock(address, n), address, n);
}
EXPORT int mlock2(const void* address, std::size_t n, unsigned flags) noexcept {
  if (real_mlock2 == nullptr) memtrace::hooks::find_next(&real_mlock2, "mlock2");
  return record_locked(real_mlock2(address, n, flags), address, n);
}
EXPORT int munlock(const void* address, std::size_t n) noexcept {
  if (real_munlock == nullptr) memtrace::hooks::find_next(&real_munlock, "munlock");
  const format::Stamp death = record::active() ? record::draw_stamp() : 0;
  const int result = real_munlock(address, n);
  const int errno_after = errno;
  if (result == 0 && death != 0)
    record::device_died(reinterpret_cast<std::uint64_t>(address), format::Kind::registered, death);
  errno = errno_after;
  return result;
}
// The kernel refuses to lock more than RLIMIT_MEMLOCK, and reads each page in. Of a small program, 21 MiB were
// the recorder's: with the usual limit of 8 MiB a call failed that succeeds without memtrace. So the program's
// mappings are locked one by one.
EXPORT int mlockall(int flags) noexcept {
  if (real_mlockall == nullptr) memtrace::hooks::find_next(&real_mlockall, "mlockall");
  constexpr int kKnown = MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT;
  // Only the real call can end an earlier MCL_FUTURE, and return the error for invalid flags.
  const bool real = (flags & ~kKnown) != 0 || (flags & MCL_CURRENT) == 0 ||
                    ((flags & MCL_FUTURE) == 0 && record::os::new_are_locked());
  if (real) return note_future_locks(real_mlockall(flags), flags);
  const int errno_before = errno;
  if (record::program_bytes() > record::os::resource_limit(RLIMIT_MEMLOCK)) { // allowed with CAP_IPC_LOCK
    const int result = note_future_locks(real_mlockall(flags), flags);
    const int errno_after = errno;
    if (result == 0) record::unlock_own();
    errno = errno_after;
    return result;
  }
  if ((flags & MCL_FUTURE) != 0 && note_future_locks(real_mlockall(flags & ~MCL_CURRENT), flags) != 0)
    return -1;
  record::lock_program((flags & MCL_ONFAULT) != 0);
  errno = errno_before;
  return 0;
}
EXPORT int munlockall() noexcept {
  if (real_munlockall == nullptr) memtrace::hooks::find_next(&real_munlockall, "munlockall");
  const int result = real_munlockall();
  if (result == 0) record::os::set_new_are_locked(false);
  return result;
}
