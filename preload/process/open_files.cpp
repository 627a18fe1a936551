// Purpose: creates the files of this process: where they can be, and which process prints it.
// Runs: when recording begins.
#include "preload/process/open_files.h"

#include <cerrno>
#include <cstring>
#include <initializer_list>

#include "preload/job/host_quota.h"
#include "preload/job/job_directory.h"
#include "preload/job/local_place.h"
#include "preload/os/clocks.h"
#include "preload/os/file_system.h"
#include "preload/os/files.h"
#include "preload/os/libc/valgrind.h"
#include "preload/os/paths.h"
#include "preload/os/threads.h"
#include "preload/ring/ring.h"
#include "preload/ring/ring_file.h"
#include "preload/state/messages.h"
#include "preload/state/settings.h"
#include "preload/trace/trace_file.h"
#include "preload/trace/write_allowance.h"

namespace memtrace::record {
namespace {

constexpr std::uint64_t kFirstBytes = 256 * 1024; // of a trace: definitions and the startup log

// The paths are static, because recording begins inside a malloc, maybe on a thread with 16 KiB of stack. Only
// one thread at a time uses them.
constinit Path stem{};
constinit Path scratch{};
constinit Path elsewhere{}; // the next best directory
constinit Path obstacle{};  // the path that blocks a directory; empty: none
constinit Path asked_for{}; // the wanted directory, if it did not work; else empty
constinit const char* reason = nullptr;
constinit Attempt tried{};

const Path& with(const char* suffix) {
  scratch.clear();
  return scratch.add(stem.text(), stem.size()).add(suffix);
}

// Sets the stem of both files. Only their directories may differ.
void set_stem(const char* directory, std::uint64_t start) {
  stem.clear();
  stem.add(directory).add("/").add(place.host.text()).add("-");
  stem.add(static_cast<std::uint64_t>(os::process_id())).add("-").add(start, 16);
}

const char* name_of(const Path& path) {
  const char* const slash = std::strrchr(path.text(), '/');
  return slash == nullptr ? path.text() : slash + 1;
}

bool is_in(const Path& directory, const Path& path) {
  const std::size_t bytes = directory.size();
  return std::strncmp(path.text(), directory.text(), bytes) == 0 && path.text()[bytes] == '/';
}

// Returns 0, or a negative reason for reason_of().
long make_trace(std::uint64_t id) {
  const Path& path = with(".memtrace");
  if (!create_trace_file(path, id, bytes_at_first())) {
    if (path.cut()) return -ENAMETOOLONG;
    const long fd = os::create(path.text());
    if (fd < 0) return fd;
    os::close(fd);
    os::unlink(path.text());
    return -1;
  }
  const long fd = os::open_own(path.text(), os::For::changing);
  const long result = fd < 0 ? fd : try_room(fd, kFirstBytes);
  if (fd >= 0) os::close(fd);
  if (result < 0) os::unlink(path.text());
  return result;
}

bool make_rings_in(const char* directory, std::uint64_t start, std::uint64_t id) {
  std::size_t there = 0;
  if (*directory == '\0' || make_directories(directory, &there) < 0) return false;
  set_stem(directory, start);
  if (start_rings(with(".rings"), id)) return true;
  remove_directories(directory, there);
  return false;
}

// Creates the ring file in the requested directory. If that fails, it tries the directory of the trace and
// temporary directories: first on disks, then in memory, then on a network.
bool make_rings(const char* directory, std::uint64_t start, std::uint64_t id) {
  if (make_rings_in(place.spool.text(), start, id)) return true;
  for (const Medium medium : {Medium::disk, Medium::memory, Medium::network})
    for (const char* at : {directory, place.temporary.text(), "/tmp"})
      if (medium_of(at) == medium && make_rings_in(at, start, id)) return true;
  return false;
}

// Returns 0, or a negative reason; then it leaves no files behind.
long open_files_in(const char* directory) {
  std::size_t there = 0;
  obstacle.clear();
  if (*directory == '\0') return -1;
  if (const long result = make_directories(directory, &there); result < 0) return result;
  const std::uint64_t start = os::unix_ns();
  const std::uint64_t id = start * 0x9E3779B97F4A7C15u ^ static_cast<std::uint64_t>(os::process_id());
  set_stem(directory, start);
  long result = make_trace(id);
  if (result == 0) {
    result = refused_by_claims(directory);
    if (result < 0) obstacle = claims_of(directory, place.host.text());
    if (result == 0 && !make_rings(directory, start, id)) result = -1;
    if (result < 0) os::unlink(trace_file.path.text());
  }
  if (result < 0) remove_directories(directory, there);
  return result;
}

// True if an existing file or its rights cause the failure. For a full disk or a limit, one line is enough.
bool is_refusal(long result) {
  return result == os::kNotOurs || result == os::kWritableByOthers || result == -ELOOP || result == -ENOTDIR;
}

// Creates the files in a directory of this user below `temporary`, which all users may share. If it fails,
// `elsewhere` is the directory that failed.
long open_files_below(const char* temporary) {
  elsewhere.clear();
  elsewhere.add(temporary).add("/memtrace-").add(os::user());
  bool made = false;
  if (const long result = make_own_directory(elsewhere.text(), &made); result < 0) return result;
  const std::size_t own = elsewhere.size();
  elsewhere.add("/").add(place.job.text());
  const long result = open_files_in(elsewhere.text());
  if (result < 0 && made) remove_directories(elsewhere.text(), own - 1);
  return result;
}

// True if this process prints messages. Of eight ranks on a host, one is enough.
bool is_announcer() {
  return place.local_rank == ~0u || place.local_rank == 0;
}

// Returns the directory that the user chose.
const Path& job_directory() {
  return place.shared.size() != 0 ? place.shared : place.directory;
}

void say_of_attempt() {
  Line<64> how, number;
  number.add(tried.died);
  if (tried.failed != 0) {
    how.add("gave up: an allocation of ").add(tried.failed >> 20).add(" MiB had failed");
  } else if (tried.counted || tried.limit == format::kNotSaid) {
    how.add("was killed for memory");
  } else {
    how.add("was killed with ").add(tried.left >> 20).add(" of ").add(tried.limit >> 20).add(" MiB left");
  }
  scratch.clear(); // where the attempts are
  const Path& directory = job_directory();
  scratch.add(directory.text(),
              place.alone ? directory.size() - std::strlen(name_of(directory)) - 1 : directory.size());
  say({"attempt ", number.text(), " here ", how.text(), ": memtrace postmortem --attempt ", number.text(), " ",
       scratch.text()});
}

bool take_share() {
  const char* const rings = rings_are_elsewhere() ? ring_path().text() : "-";
  Quota granted = claim_quota(place.directory.text(), name_of(stem), rings, trace_file.max_bytes);
  // A job that is restarted for weeks: its newest attempt is recorded in full.
  if (is_quota_half_used() && drop_old_attempts(place.directory.text()))
    granted = claim_again(trace_file.max_bytes);
  set_bound(granted.bytes);
  if (granted.detail != Detail::none) {
    tried = take_attempt(place.directory.text());
    return true;
  }
  os::unlink(trace_file.path.text());
  remove_ring_file();
  return false;
}

} // namespace

bool open_files() {
  if (!under_valgrind) settle_place(); // valgrind has no background thread, which copies
  long result = open_files_in(place.directory.text());
  if (result == 0) return take_share();
  if (place.shared.size() != 0) {
    leave_local_place();
    result = open_files_in(place.directory.text());
    if (result == 0) return take_share();
  }
  reason = reason_of(result);
  asked_for = obstacle.size() != 0 ? obstacle : place.directory;
  const char* refusal = nullptr; // of the last directory in `elsewhere`
  for (const char* temporary : {place.temporary.text(), "/tmp"}) {
    const long elsewhere_result = open_files_below(temporary);
    if (elsewhere_result == 0) {
      place.directory = elsewhere;
      place.alone = true;
      return take_share();
    }
    if (is_refusal(elsewhere_result)) refusal = reason_of(elsewhere_result);
  }
  if (!is_announcer()) return false;
  if (refusal == nullptr) {
    say({"not recording: no trace can be written in ", asked_for.text(), " (", reason, ")"});
  } else {
    say({"not recording: no trace can be written in ", asked_for.text(), " (", reason, ") nor in ",
         elsewhere.text(), " (", refusal, "): set MEMTRACE_OUT to a directory of yours"});
  }
  return false;
}

const Attempt& attempt() {
  return tried;
}

void announce() {
  if (!tried.founds) return;
  becomes_speaker();
  if (!tried.opens) return;
  if (asked_for.size() != 0) {
    say({"recording to ", place.directory.text(), " (cannot write in ", asked_for.text(), ": ", reason, ")"});
  } else if (place.spool.size() != 0 && !is_in(place.spool, ring_path())) {
    say({"recording to ", place.directory.text(), " (no rings can be in ", place.spool.text(), ": ",
         ring_path().text(), ")"});
  } else if (place.shared.size() != 0) {
    say({"recording to ", place.shared.text(), " (local files until copied: ", place.directory.text(), ")"});
  } else {
    say({"recording to ", place.directory.text()});
  }
  if (tried.died != 0) say_of_attempt();
}

bool rings_are_elsewhere() {
  return !is_in(place.directory, ring_path());
}

} // namespace memtrace::record
