// Room: hooks. Runs inside the victim's mlock.
// Job: memory whose pages are locked after it was got, as DeepSpeed's own pinned buffers are: it is marked, not
// counted.
#include <errno.h>
#include <sys/mman.h>

#include "hooks/find.h"
#include "record/device_memory.h"

#include "record/forbidden.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace record = memtrace::record;
namespace format = memtrace::format;

namespace {

using Lock = int (*)(const void*, std::size_t);
using LockSome = int (*)(const void*, std::size_t, unsigned);
constinit Lock real_mlock = nullptr;
constinit Lock real_munlock = nullptr;
constinit LockSome real_mlock2 = nullptr;

// What the recorder's or an allocator's own thread does is none of the program's.
int locked(int result, const void* address, std::size_t n) {
  const int errno_after = errno;
  if (result == 0 && n != 0 && record::active())
    record::device_born({reinterpret_cast<std::uint64_t>(address), n, n, format::Kind::registered});
  errno = errno_after;
  return result;
}

} // namespace

EXPORT int mlock(const void* address, std::size_t n) noexcept {
  if (real_mlock == nullptr) memtrace::hooks::find_next(&real_mlock, "mlock");
  return locked(real_mlock(address, n), address, n);
}
EXPORT int mlock2(const void* address, std::size_t n, unsigned flags) noexcept {
  if (real_mlock2 == nullptr) memtrace::hooks::find_next(&real_mlock2, "mlock2");
  return locked(real_mlock2(address, n, flags), address, n);
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
