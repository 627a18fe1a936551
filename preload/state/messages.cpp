// Purpose: prints the lines that users see.
// Runs: when recording begins, and once if an error occurs.
#include "preload/state/messages.h"

#include <cerrno>

#include "preload/bounded/fixed_string.h"
#include "preload/bounded/fork_locks.h"
#include "preload/os/files.h"
#include "preload/os/standard_error.h"
#include "preload/os/threads.h"
#include "preload/state/settings.h"

namespace memtrace::record {
namespace {

constinit Line<8400> line{}; // static, because the stack may be small
constinit SpinLock line_lock;
REGISTER_LOCK(line_lock, nullptr);

} // namespace

bool say(std::initializer_list<const char*> parts) {
  if (settings.quiet) return false;
  const Locked locked(line_lock);
  if (!locked) return false;
  line.clear();
  line.add("memtrace: ");
  for (const char* part : parts) line.shown(part);
  line.add("\n");
  return os::say(line.text(), line.size());
}

namespace {
constinit int announcer = 0; // pid; 0: none
}

void becomes_speaker() {
  announcer = os::process_id();
}

// True once, in the announcer.
static bool may_announce() {
  if (__atomic_load_n(&announcer, __ATOMIC_RELAXED) == 0) return false;
  // A fork of the announcer is another process.
  return __atomic_exchange_n(&announcer, 0, __ATOMIC_RELAXED) == os::process_id();
}

// A thread that cannot print leaves the line to another one. Then it returns false.
static bool announce_once(std::initializer_list<const char*> parts) {
  if (settings.quiet || !may_announce()) return true;
  const bool said = say(parts);
  if (!said) becomes_speaker();
  return said;
}

bool say_of_copies(const char* to, const char* from, long error) {
  return announce_once({"cannot write in ", to, " (", reason_of(error), "): the traces stay in ", from,
                        "; memtrace tries again at the next copy"});
}

void say_of_losses(const char* path, long error) {
  if (error != 0)
    announce_once(
        {"cannot write ", path, " (", reason_of(error), "): events are lost until it can be written again"});
}

const char* reason_of(long error) {
  switch (-error) {
    case ENOSPC:
      return "no space left";
    case EDQUOT:
      return "quota exceeded";
    case EROFS:
      return "read-only file system";
    case -os::kNotOurs:
      return "it belongs to another user";
    case -os::kWritableByOthers:
      return "other users can write in it";
    case ELOOP:
      return "it is a link";
    case ENXIO:
    case EISDIR:
      return "it is not a regular file";
    case EACCES:
    case EPERM:
      return "permission denied";
    case ENOENT:
      return "no such directory";
    case ENOTDIR:
      return "not a directory";
    case EFBIG:
      return "limit on the size of files";
    case ENAMETOOLONG:
      return "name too long";
    case EMFILE:
    case ENFILE:
      return "too many open files";
    case ENODEV:
    case EOPNOTSUPP:
      return "no shared mappings there";
    default:
      return "input/output error";
  }
}

} // namespace memtrace::record
