// Purpose: the rough level of each memory, which decides when recording begins and when memtrace measures RSS.
// Runs: inside the program's malloc.
#include "preload/record/live_levels.h"

#include <errno.h>

#include "preload/os/clocks.h"
#include "preload/record/thread_list.h"
#include "preload/ring/ring_file.h"
#include "preload/state/arming.h"
#include "preload/state/doorbell.h"
#include "preload/state/fork_mark.h"
#include "preload/state/recorder_state.h"
#include "preload/state/settings.h"
#include "preload/state/upcalls.h"

namespace memtrace::record {

namespace {

constexpr unsigned kMemories = 8;
constexpr std::int64_t kNeverWatched = INT64_MAX;
constexpr std::uint64_t kChildAgeNs = 1'000'000'000;
constexpr std::int64_t kChildFlows = 1 << 20;

// No thread keeps more, and all threads together keep no more, as long as each keeps the least.
constexpr std::int64_t kMostOfThread = 64 * 1024;
constexpr std::int64_t kLeastOfThread = 4 * 1024;
constexpr std::int64_t kMostOfAll = 1 << 20;

// The host's quick level is levels[0] + told. Its exact level is levels[0] + told_by_ended + the parts of all
// threads. `told` changes by what threads tell, levels[0] by events that no thread keeps.
constinit std::int64_t levels[kMemories] = {};
constinit std::int64_t told = 0;
constinit std::int64_t told_by_ended = 0; // the threads lock guards it
constinit std::int64_t tensors = 0;
constinit std::int64_t device_tensors[kMemories] = {};
constinit std::uint64_t reserved_of_devices[kMemories] = {};
constinit std::int64_t flowed = 0;
constinit bool threads_keep = false;
constinit std::int64_t kept_by_each = kMostOfThread;
constinit std::int64_t watched = kNeverWatched;
constinit bool recording_begins = false;
constinit std::uint64_t born_ns = 0; // of a forked child; 0 in other processes

// True for only one thread, once after each watch_level().
bool passed_watch(std::int64_t level) {
  std::int64_t watch = __atomic_load_n(&watched, __ATOMIC_RELAXED);
  return level > watch && __atomic_compare_exchange_n(&watched, &watch, kNeverWatched, false, __ATOMIC_RELAXED,
                                                      __ATOMIC_RELAXED);
}

// Adds to a word that only this thread writes.
void add_own(std::int64_t& word, std::int64_t change) {
  __atomic_store_n(&word, word + change, __ATOMIC_RELAXED);
}

void level_is(unsigned memory, std::int64_t now) {
  if (memory == 0 && now > __atomic_load_n(&watched, __ATOMIC_RELAXED) && !note_level(now) && passed_watch(now))
    wake_for_look();
  if (format::RingFileHeader* const header = ring_header(); header != nullptr)
    header->live[memory] = static_cast<std::uint64_t>(now > 0 ? now : 0);
}

void keep(LevelParts& mine, std::int64_t change) {
  add_own(mine.live, change);
  const std::int64_t untold = mine.live - mine.told;
  const std::int64_t most = most_kept();
  if (untold < most && untold > -most) return;
  mine.told = mine.live;
  level_is(0,
           __atomic_add_fetch(&told, untold, __ATOMIC_RELAXED) + __atomic_load_n(&levels[0], __ATOMIC_RELAXED));
}

// The threads of an armed process do not keep parts.
std::int64_t change_armed_host_level(std::int64_t change) {
  if (born_ns != 0 && change > 0) __atomic_fetch_add(&flowed, change, __ATOMIC_RELAXED); // for the child's age
  return __atomic_add_fetch(&levels[0], change, __ATOMIC_RELAXED);
}

// True if look_at_arming() is due.
bool is_look_due(std::int64_t level) {
  if (level > __atomic_load_n(&armed_watch.look_above, __ATOMIC_RELAXED)) return true;
  return __atomic_load_n(&armed_watch.file, __ATOMIC_RELAXED) != nullptr && may_look_at_file();
}

[[gnu::cold, gnu::noinline]] void look_at_armed() {
  const int errno_before = errno;
  look_at_arming();
  errno = errno_before;
}

} // namespace

void level(unsigned memory, std::int64_t change) {
  if (memory >= kMemories) return;
  Thread* const thread = __atomic_load_n(&threads_keep, __ATOMIC_RELAXED) ? local.thread : nullptr;
  if (change > 0 && thread != nullptr) {
    add_own(thread->levels.flowed, change);
  } else if (change > 0) {
    __atomic_fetch_add(&flowed, change, __ATOMIC_RELAXED);
  }
  if (memory == 0 && thread != nullptr) return keep(thread->levels, change);
  const std::int64_t now = __atomic_add_fetch(&levels[memory], change, __ATOMIC_RELAXED);
  level_is(memory, memory == 0 ? now + __atomic_load_n(&told, __ATOMIC_RELAXED) : now);
}

// Recording does the same, and more that only a record needs.
bool change_armed_levels(std::int64_t bytes, bool is_tensor) {
  if (local.busy != 0 || state() != State::buffering) [[unlikely]]
    return false;
  local.busy = 1;
  asm volatile("" ::: "memory");
  notice_fork();
  bool armed = false;
  bool due = false;
  {
    const Locked locked(arming_lock);
    armed = is_armed();
    if (armed) [[likely]] {
      if (is_tensor) tensor_level(bytes);
      due = is_look_due(change_armed_host_level(bytes));
    }
  }
  if (due) [[unlikely]]
    look_at_armed();
  asm volatile("" ::: "memory");
  local.busy = 0;
  return armed;
}

std::int64_t flows_since_fork() {
  const Locked locked(threads_lock); // without it, the sum may lack an ended thread, or have it twice
  return __atomic_load_n(&flowed, __ATOMIC_RELAXED) + levels_of_threads().flowed;
}
void reset_flows() {
  flowed = 0;
}
std::int64_t level_of(unsigned memory) {
  if (memory >= kMemories) return 0;
  const std::int64_t level = __atomic_load_n(&levels[memory], __ATOMIC_RELAXED);
  return memory == 0 ? level + __atomic_load_n(&told, __ATOMIC_RELAXED) : level;
}
std::int64_t host_level() {
  return level_of(0);
}
std::int64_t exact_host_level() {
  const Locked locked(threads_lock);
  return __atomic_load_n(&levels[0], __ATOMIC_RELAXED) + __atomic_load_n(&told_by_ended, __ATOMIC_RELAXED) +
         levels_of_threads().live;
}

void tensor_level(std::int64_t change) {
  if (local.thread != nullptr) return add_own(local.thread->levels.tensors, change);
  __atomic_fetch_add(&tensors, change, __ATOMIC_RELAXED);
}
std::int64_t tensor_level() {
  const Locked locked(threads_lock);
  return tensor_level_of_list();
}
std::int64_t tensor_level_of_list() {
  return __atomic_load_n(&tensors, __ATOMIC_RELAXED) + levels_of_threads().tensors;
}

void device_tensor_level(unsigned memory, std::int64_t change) {
  if (memory < kMemories) add_own(device_tensors[memory], change);
}
std::int64_t device_tensor_level_of(unsigned memory) {
  return memory < kMemories ? __atomic_load_n(&device_tensors[memory], __ATOMIC_RELAXED) : 0;
}

void device_reserved(unsigned memory, std::uint64_t bytes) {
  if (memory < kMemories) __atomic_store_n(&reserved_of_devices[memory], bytes, __ATOMIC_RELAXED);
}
std::uint64_t device_reserved_of(unsigned memory) {
  return memory < kMemories ? __atomic_load_n(&reserved_of_devices[memory], __ATOMIC_RELAXED) : 0;
}

void let_threads_keep_levels() {
  __atomic_store_n(&threads_keep, true, __ATOMIC_RELAXED);
}
std::int64_t most_kept() {
  return __atomic_load_n(&kept_by_each, __ATOMIC_RELAXED);
}
void share_among(std::uint32_t threads) {
  const std::int64_t each = kMostOfAll / threads;
  const std::int64_t kept = each > kMostOfThread    ? kMostOfThread
                            : each < kLeastOfThread ? kLeastOfThread
                                                    : each;
  __atomic_store_n(&kept_by_each, kept, __ATOMIC_RELAXED);
}

void keep_levels_of(const Thread& ended) {
  const LevelParts& parts = ended.levels;
  __atomic_fetch_add(&levels[0], parts.live - parts.told, __ATOMIC_RELAXED);
  __atomic_store_n(&told_by_ended, told_by_ended + parts.told, __ATOMIC_RELAXED);
  __atomic_fetch_add(&flowed, parts.flowed, __ATOMIC_RELAXED);
  __atomic_fetch_add(&tensors, parts.tensors, __ATOMIC_RELAXED);
}

void levels_forked() {
  threads_keep = false;
  const LevelParts parts = levels_of_threads();
  levels[0] += told_by_ended + parts.live;
  told = told_by_ended = 0;
  tensors += parts.tensors;
  flowed += parts.flowed;
  forget_levels_of_threads();
}

bool is_large_enough() {
  for (const std::int64_t& value : levels)
    if (__atomic_load_n(&value, __ATOMIC_RELAXED) >= static_cast<std::int64_t>(settings.min_peak)) return true;
  return false;
}

void set_birth(bool age_counts) {
  born_ns = age_counts ? os::monotonic_ns() : 0;
}

bool old_enough_to_record() {
  return born_ns == 0 || __atomic_load_n(&flowed, __ATOMIC_RELAXED) >= kChildFlows ||
         os::monotonic_ns() - born_ns >= kChildAgeNs;
}

bool due_to_begin() {
  return old_enough_to_record() && is_large_enough();
}

void watch_level(std::int64_t level) {
  __atomic_store_n(&watched, level, __ATOMIC_RELAXED);
}
void watch_no_level() {
  watch_level(kNeverWatched);
}

void raise(std::uint64_t& noted, std::uint64_t level) {
  constexpr int kTries = 8;
  std::uint64_t known = __atomic_load_n(&noted, __ATOMIC_RELAXED);
  for (int i = 0; i < kTries && known != 0 && known < level; ++i)
    if (__atomic_compare_exchange_n(&noted, &known, level, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
}

bool note_level(std::int64_t level) {
  if (!recording_begins) return false;
  raise(ring_header()->beginning, static_cast<std::uint64_t>(level));
  return true;
}

void begin_to_note_levels() {
  recording_begins = true;
  watch_level(0);
}
void stop_noting_levels() {
  recording_begins = false;
  watch_no_level();
}

} // namespace memtrace::record
