// Purpose: the rough level of each memory, which decides when recording begins and when memtrace measures RSS.
// Runs: inside the program's malloc.
#include "preload/record/live_levels.h"

#include "preload/os/clocks.h"
#include "preload/ring/ring_file.h"
#include "preload/state/doorbell.h"
#include "preload/state/settings.h"

namespace memtrace::record {

namespace {

constexpr unsigned kMemories = 8;
constexpr std::int64_t kNeverWatched = INT64_MAX;
constexpr std::uint64_t kChildAgeNs = 1'000'000'000;
constexpr std::int64_t kChildFlows = 1 << 20;

constinit std::int64_t levels[kMemories] = {};
constinit std::int64_t tensors = 0;
constinit std::int64_t flowed = 0;
constinit std::int64_t watched = kNeverWatched;
constinit bool recording_begins = false;
constinit std::uint64_t born_ns = 0; // of a forked child; 0 in other processes

// True for only one thread, once after each watch_level().
bool passed_watch(std::int64_t level) {
  std::int64_t watch = __atomic_load_n(&watched, __ATOMIC_RELAXED);
  return level > watch && __atomic_compare_exchange_n(&watched, &watch, kNeverWatched, false, __ATOMIC_RELAXED,
                                                      __ATOMIC_RELAXED);
}

} // namespace

void level(unsigned memory, std::int64_t change) {
  if (memory >= kMemories) return;
  if (change > 0) __atomic_fetch_add(&flowed, change, __ATOMIC_RELAXED);
  const std::int64_t now = __atomic_add_fetch(&levels[memory], change, __ATOMIC_RELAXED);
  if (memory == 0 && now > __atomic_load_n(&watched, __ATOMIC_RELAXED) && !note_level(now) && passed_watch(now))
    wake_drain();
  if (format::RingFileHeader* const header = ring_header(); header != nullptr)
    header->live[memory] = static_cast<std::uint64_t>(now > 0 ? now : 0);
}

std::int64_t flows_since_fork() {
  return __atomic_load_n(&flowed, __ATOMIC_RELAXED);
}
void reset_flows() {
  flowed = 0;
}
std::int64_t level_of(unsigned memory) {
  return memory < kMemories ? __atomic_load_n(&levels[memory], __ATOMIC_RELAXED) : 0;
}
std::int64_t host_level() {
  return level_of(0);
}

void tensor_level(std::int64_t change) {
  __atomic_fetch_add(&tensors, change, __ATOMIC_RELAXED);
}
std::int64_t tensor_level() {
  return __atomic_load_n(&tensors, __ATOMIC_RELAXED);
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
  return born_ns == 0 || flows_since_fork() >= kChildFlows || os::monotonic_ns() - born_ns >= kChildAgeNs;
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
