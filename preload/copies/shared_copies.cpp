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

constinit std::uint64_t interval = 0; // ns; 0: not known yet
constinit std::uint64_t copied_at = 0;
constinit std::uint64_t own_done = 0; // bytes of this process's trace that are copied
constinit bool has_directory = false;
constinit bool job_is_copied = false;
constinit bool may_take = true; // files of killed processes may be on this host
constinit bool was_near = false;
constinit std::uint64_t left_then = 0; // bytes to the limit at the last copy
constinit bool complained = false;

constinit Path directory{}; // of the copies
constinit Path local{};     // stems
constinit Path shared{};
constinit Line<200> left_behind[kMostLeft]{};
constinit unsigned left_count = 0;
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
  say_of_copies(directory.text(), place.directory.text(), error);
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
  result = copy_trace(&own_done, go_on);
  return result == 0 ? copy_job_file(go_on) : result;
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

void find_left_behind() {
  left_count = 0;
  some_are_young = false;
  const Locked locked(pass_lock);
  if (!locked) return;
  each_claim(place.directory.text(), place.host.text(), &look_at_claim, nullptr);
}

// Copies the rest of a trace and removes the local files, as far as both succeed.
long finish(std::uint64_t* done, GoOn go_on) {
  if (was_copied(local.text())) {
    remove_copied(local.text());
    return 0;
  }
  long result = copy_trace(done, go_on, true);
  if (result == 0) result = copy_rest(local.text(), shared.text(), go_on);
  if (result == 0) remove_copied(local.text());
  return result;
}

void take_left_behind(GoOn go_on) {
  if (!may_take) return;
  find_left_behind();
  bool all = true;
  for (unsigned i = 0; i < left_count && go_on(); ++i) {
    set_stems(left_behind[i].text());
    std::uint64_t done = 0; // the copy may have holes below its size: its client was killed, too
    if (finish(&done, go_on) != 0) all = false;
  }
  may_take = some_are_young || left_count == kMostLeft || !all || !go_on();
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

void copy_if_due(GoOn go_on) {
  if (!is_shared()) return;
  if (interval == 0) interval = find_interval();
  const std::uint64_t now = os::monotonic_ns();
  if (copied_at != 0 && now < copied_at + interval && !copy_is_urgent()) return;
  was_near = ring_header()->near != 0;
  left_then = ring_header()->left;
  const long result = copy_own(go_on);
  if (result == 0) take_left_behind(go_on);
  if (result != kStopped) copied_at = os::monotonic_ns(); // else the thread that follows continues
  complain_once(result);
}

void copy_last(GoOn go_on) {
  if (!is_shared()) return;
  long result = make_directory_once();
  if (result == 0) {
    set_stems(own_stem());
    result = copy_job_file(go_on);
    if (result == 0) result = finish(&own_done, go_on);
  }
  if (result == 0) take_left_behind(go_on);
  complain_once(result);
}

void forget_copies() {
  copied_at = own_done = left_then = 0;
  was_near = complained = false;
  may_take = true;
  forget_copy_state();
}

} // namespace memtrace::record
