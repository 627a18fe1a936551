// Purpose: hooks of posix_fallocate, by which PyTorch reserves a file of shared memory before it maps it. If
// /dev/shm is full, this call fails, and no mapping of the file follows.
// Runs: inside the program's posix_fallocate.
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>

#include "preload/api/export.h"
#include "preload/blocks/recording.h"
#include "preload/hooks/symbols/find_symbol.h"
#include "preload/os/paths.h"
#include "preload/state/recorder_state.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::hooks {
namespace {

using Reserve = int (*)(int, off_t, off_t);
constinit Reserve real_posix_fallocate = nullptr;

// Records that a tmpfs had no room. posix_fallocate returns the error and leaves errno.
[[gnu::cold]] void shared_file_refused(int fd, off_t bytes) {
  if (!record::active() || record::os::file_system_of(fd) != TMPFS_MAGIC) return;
  if (const record::Recording here; here)
    here.failed({0, 0, static_cast<std::uint64_t>(bytes), format::Kind::shm}, {ENOSPC});
}

int reserve_file(int fd, off_t offset, off_t bytes) {
  if (real_posix_fallocate == nullptr) find_next(&real_posix_fallocate, "posix_fallocate");
  const int result = real_posix_fallocate(fd, offset, bytes);
  if (result == ENOSPC) shared_file_refused(fd, bytes);
  return result;
}

} // namespace
} // namespace memtrace::hooks

EXPORT int posix_fallocate(int fd, off_t offset, off_t bytes) {
  return memtrace::hooks::reserve_file(fd, offset, bytes);
}
EXPORT int posix_fallocate64(int fd, off64_t offset, off64_t bytes) {
  return memtrace::hooks::reserve_file(fd, offset, bytes);
}
