// Purpose: chooses a local directory for the traces of a job whose directory is on a shared file system.
// Runs: when the process makes its first file; also inside a malloc, on a small stack.
#include "preload/job/local_place.h"

#include <cerrno>
#include <cstring>
#include <initializer_list>

#include "preload/format/shared_files.h"
#include "preload/job/job_directory.h"
#include "preload/os/file_system.h"
#include "preload/os/paths.h"
#include "preload/os/threads.h"
#include "preload/state/settings.h"

namespace memtrace::record {
namespace {

// Static: one thread begins to record at a time, and its stack may be small.
constinit Path path{};
constinit Path local{};
constinit Path asked_spool{};

// Returns the medium of the existing part of a directory.
Medium medium_above(const char* directory) {
  for (std::size_t bytes = std::strlen(directory); bytes != 0;) {
    path.clear();
    path.add(directory, bytes);
    if (os::exists(path.text())) return medium_of(path.text());
    do --bytes;
    while (bytes != 0 && directory[bytes] != '/');
  }
  return medium_of("/");
}

// True if rings and traces may be at `base`. In memory they would take the memory of the job, so only the user
// chooses that.
bool is_usable(const char* base, bool chosen) {
  const Medium medium = medium_of(base);
  return medium == Medium::disk || (chosen && medium == Medium::memory);
}

// Adds the path without "." and "..", so that it stays below `local`.
void add_below(const char* directory) {
  const std::size_t base = local.size();
  for (const char* at = directory; *at != '\0';) {
    while (*at == '/') ++at;
    const std::size_t bytes = std::strcspn(at, "/");
    if (bytes == 2 && at[0] == '.' && at[1] == '.') {
      std::size_t end = local.size();
      while (end > base && local.text()[end - 1] != '/') --end;
      path.clear();
      path.add(local.text(), end > base ? end - 1 : base);
      local = path;
    } else if (bytes != 0 && !(bytes == 1 && *at == '.')) {
      local.add("/").add(at, bytes);
    }
    at += bytes;
  }
}

// Sets `local` to the directory that stands for the job's directory below `base`.
bool make_local(const char* base) {
  local.clear();
  local.add(base).add("/memtrace-").add(os::user());
  bool made = false;
  if (make_own_directory(local.text(), &made) < 0) return false;
  local.add(format::kLocalFolder);
  add_below(place.directory.text());
  return !local.cut();
}

} // namespace

void settle_place() {
  if (place.settled) return;
  place.settled = true;
  if (settings.sharing == Sharing::off || *place.directory.text() != '/') return;
  const bool chosen = settings.sharing == Sharing::on;
  if (!chosen && medium_above(place.directory.text()) != Medium::network) return;
  const bool spool = place.spool.size() != 0;
  for (const char* base : {place.spool.text(), place.temporary.text(), "/tmp"}) {
    const bool asked_for = chosen || (spool && base == place.spool.text());
    if (*base == '\0' || !is_usable(base, asked_for) || !make_local(base)) continue;
    place.shared = place.directory;
    place.directory = local;
    asked_spool = place.spool;
    place.spool = local; // the rings are beside the traces, also in memory
    return;
  }
}

void leave_local_place() {
  place.directory = place.shared;
  place.spool = asked_spool;
  place.shared.clear();
}

} // namespace memtrace::record
