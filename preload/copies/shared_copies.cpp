// Purpose: keeps the job's directory on a shared file system up to date: seldom, at once near a limit, and at
// the end of a process.
// Runs: on memtrace's own thread, except where said. No other thread touches the shared file system.
#include "preload/copies/shared_copies.h"

#include <cerrno>
#include <cstring>

#include "preload/copies/copied_trace.h"
#include "preload/copies/local_disk.h"
#include "preload/format/shared_files.h"
#include "preload/job/host_quota.h"
#include "preload/job/job_attempt.h"
#include "preload/job/job_directory.h"
#include "preload/job/other_process.h"
#include "preload/kernel/proc_file.h"
#include "preload/os/clocks.h"
#include "preload/os/files.h"
#include "preload/os/paths.h"
#include "preload/ring/ring_file.h"
#include "preload/state/messages.h"
#include "preload/state/settings.h"
#include "preload/trace/trace_file.h"
#include "preload/trace/trace_windows.h"

namespace memtrace::record {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kLeastNs = kSecond / 10; // between two copies
// The files of a process in another pid namespace show whether it runs: one of them grows twice a second.
constexpr std::uint64_t kUnwrittenNs = 10 * kSecond;
constexpr unsigned kMostLeft = 32; // processes whose files are taken over at one time
// Of one pass: samples and rings wait for it. The files of a killed process may have 100 MiB.
constexpr unsigned kPassPieces = 16;
constexpr std::uint64_t kPassNs = kSecond / 10; // after it, no further piece

// How far the files of a process are copied.
struct CopyProgress {
  std::uint64_t trace = 0; // bytes
  bool has_trace = false;  // and the server has all of it
  RestProgress rest;
};

constinit std::uint64_t interval = 0; // ns; 0: not known yet
constinit std::uint64_t copied_at = 0;
constinit CopyProgress own{};
constinit bool own_waits = false; // the pass before did not come to the end of this process's trace
constinit bool has_directory = false;
constinit bool job_is_copied = false;
constinit bool may_take = true; // files of killed processes may be on this host
constinit bool was_near = false;
constinit std::uint64_t left_then = 0; // bytes to the limit at the last copy
constinit long failure = 0; // of the first copy that failed, a negative errno; 0 once a thread has printed it
constinit bool complained = false;

constinit GoOn asked = nullptr;
constinit unsigned pieces_left = 0; // of this pass
constinit std::uint64_t pass_ends = 0;

constinit Path directory{}; // of the copies
constinit Path local{};     // stems
constinit Path shared{};
constinit Line<200> left_behind[kMostLeft]{};
constinit unsigned left_count = 0;
constinit unsigned left_at = 0; // those before it are taken over
constinit CopyProgress taken{}; // of the process at `left_at`
constinit bool all_were_taken = true;
constinit bool some_are_young = false;

bool is_shared() {
  return place.shared.size() != 0;
}

// A directory that was removed meanwhile is not made again, because its removal was deliberate.
long make_directory_once() {
  if (has_directory) return 0;
  const OnShared timed;
  directory.clear();
  directory.add(place.shared.text()).add("/").add(place.host.text());
  long result = os::make_directory(directory.text(), 0777);
  std::size_t there = 0;
  if (result == -ENOENT) result = make_directories(directory.text(), &there);
  if (result == -EEXIST) result = 0;
  has_directory = result == 0;
  return result;
}

void set_stems(const char* stem) {
  local.clear();
  local.add(place.directory.text()).add("/").add(stem);
  shared.clear();
  shared.add(directory.text()).add("/").add(stem);
}

const char* own_stem() {
  static constinit Line<200> stem{};
  const char* const slash = std::strrchr(trace_file.path.text(), '/');
  const std::size_t bytes = std::strlen(slash + 1);
  stem.clear();
  stem.add(slash + 1, bytes - (sizeof ".memtrace" - 1));
  return stem.text();
}

void complain_once(long error) {
  if (complained || error >= 0) return;
  complained = true;
  __atomic_store_n(&failure, error, __ATOMIC_RELEASE);
}

long copy_trace(std::uint64_t* done, GoOn go_on, bool synced = false) {
  static constinit Path to{};
  to.clear();
  to.add(shared.text()).add(".memtrace");
  return copy_appended(with_suffix(local.text(), ".memtrace"), to.text(), done, go_on, synced);
}

// The analyzer tells the attempts of the job by this file.
long copy_job_file(GoOn go_on) {
  const char* const from = founded_job_file();
  const char* const name = std::strrchr(from, '/');
  if (job_is_copied || name == nullptr) return 0;
  static constinit Path to{};
  to.clear();
  to.add(directory.text()).add(name);
  std::uint64_t done = 0;
  const long result = copy_appended(from, to.text(), &done, go_on);
  job_is_copied = result == 0;
  return result;
}

long copy_own(GoOn go_on) {
  long result = make_directory_once();
  if (result != 0) return result;
  set_stems(own_stem());
  result = copy_trace(&own.trace, go_on);
  return result == 0 ? copy_job_file(asked) : result; // some hundred bytes, in any pass
}

// Pass lock held: it guards the claims.
void look_at_claim(void*, const char* stem, const char*) {
  set_stems(stem);
  if (left_count == kMostLeft || std::strcmp(stem, own_stem()) == 0) return;
  const std::uint64_t written =
      os::exists(with_suffix(local.text(), ".memtrace")) ? written_ns(local.text()) : 0;
  std::uint32_t pid = 0;
  const std::uint64_t start = start_of(stem, &pid);
  if (written == 0 || start == 0 || began_before(pid, start)) return;
  if (os::unix_ns() < written + kUnwrittenNs) {
    some_are_young = true;
    return;
  }
  left_behind[left_count].clear();
  left_behind[left_count++].add(stem);
}

bool is_taking() {
  return left_at != left_count;
}

// Lists the processes whose files this one takes over. They are taken before the next list is made.
void find_left_behind() {
  if (!may_take || is_taking()) return;
  left_count = left_at = 0;
  taken = {};
  some_are_young = false;
  all_were_taken = true;
  const Locked locked(pass_lock);
  if (locked) each_claim(place.directory.text(), place.host.text(), &look_at_claim, nullptr);
  may_take = !locked || some_are_young || is_taking();
}

// Copies the rest of a trace and removes the local files, as far as both succeed.
long finish(CopyProgress* progress, GoOn go_on) {
  if (was_copied(local.text())) {
    remove_copied(local.text());
    return 0;
  }
  long result = progress->has_trace ? 0 : copy_trace(&progress->trace, go_on, true);
  progress->has_trace = result == 0;
  if (result == 0) result = copy_rest(local.text(), shared.text(), &progress->rest, go_on);
  if (result == 0) remove_copied(local.text());
  return result;
}

// Continues with the files of killed processes, one process after the other.
void take_left_behind(GoOn go_on) {
  if (!is_taking()) return;
  while (is_taking()) {
    set_stems(left_behind[left_at].text());
    // From the beginning: the copy may have holes below its size, because its client was killed, too.
    const long result = finish(&taken, go_on);
    if (result == kStopped) return;
    if (result != 0) all_were_taken = false;
    taken = {};
    ++left_at;
  }
  if (!is_taking()) may_take = some_are_young || left_count == kMostLeft || !all_were_taken;
}

void begin_pass(GoOn go_on) {
  asked = go_on;
  pieces_left = kPassPieces;
}

// True if this pass may copy one more piece. The first one is always copied, and the time counts from there: a
// server that takes 0.1 s to open a file would otherwise end each pass.
bool goes_on_in_pass() {
  if (!asked() || pieces_left == 0) return false;
  const std::uint64_t now = os::monotonic_ns();
  if (pieces_left == kPassPieces) pass_ends = now + kPassNs;
  if (now > pass_ends) return false;
  --pieces_left;
  return true;
}

std::uint64_t find_interval() {
  if (settings.copy_seconds != 0) return settings.copy_seconds * kSecond;
  const bool goes = disk_goes_with_job(place.directory.text());
  return (goes ? format::kCopySecondsIfLost : format::kCopySeconds) * kSecond;
}

} // namespace

bool copy_is_urgent() {
  const format::RingFileHeader* const header = ring_header();
  if (!is_shared() || header == nullptr || header->near == 0) return false;
  const bool closer = !was_near || header->left < left_then / 2;
  return closer && os::monotonic_ns() > copied_at + kLeastNs;
}

bool copy_if_due(GoOn go_on) {
  if (!is_shared()) return true;
  if (interval == 0) interval = find_interval();
  begin_pass(go_on);
  const bool urgent = copy_is_urgent();
  if (own_waits || urgent || copied_at == 0 || os::monotonic_ns() >= copied_at + interval) {
    if (urgent || !own_waits) {
      was_near = ring_header()->near != 0;
      left_then = ring_header()->left;
    }
    const long result = copy_own(&goes_on_in_pass);
    own_waits = result == kStopped;
    if (own_waits) return !was_near;
    copied_at = os::monotonic_ns();
    complain_once(result);
    if (result == 0) find_left_behind(); // the next pass takes them: this one has used its time
    return true;
  }
  take_left_behind(&goes_on_in_pass);
  return true;
}

bool copy_last(GoOn go_on) {
  if (!is_shared()) return true;
  long result = make_directory_once();
  if (result == 0) {
    set_stems(own_stem());
    const long of_job = copy_job_file(go_on);
    result = of_job == kStopped ? kStopped : finish(&own, go_on);
  }
  if (result == 0) {
    find_left_behind();
    take_left_behind(go_on);
  }
  complain_once(result);
  return result == 0 && !is_taking();
}

bool copies_have_failed() {
  return __atomic_load_n(&failure, __ATOMIC_RELAXED) != 0;
}

void say_of_failed_copies() {
  const long error = __atomic_exchange_n(&failure, 0, __ATOMIC_ACQUIRE);
  if (error == 0 || say_of_copies(directory.text(), place.directory.text(), error)) return;
  __atomic_store_n(&failure, error, __ATOMIC_RELEASE); // for another thread, or later
}

void forget_copies() {
  failure = 0;
  copied_at = left_then = 0;
  own = taken = {};
  left_count = left_at = 0;
  own_waits = was_near = complained = false;
  may_take = true;
  forget_copy_state();
  forget_copy_buffer();
}

} // namespace memtrace::record
