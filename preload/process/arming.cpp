// Purpose: when an armed process begins to record: if `memtrace arm` calls it, or at a level or a growth.
// Runs: inside hooks, guard held.
#include "preload/process/arming.h"

#include <cstdint>

#include "preload/kernel/growing_floor.h"
#include "preload/os/clocks.h"
#include "preload/process/armed_file.h"
#include "preload/process/begin.h"
#include "preload/record/live_levels.h"
#include "preload/record/thread_list.h"
#include "preload/state/arming.h"
#include "preload/state/upcalls.h"

namespace memtrace::record {

namespace {

constexpr std::uint32_t kBetweenClocks = 64; // events between two looks at the clock

using Start = void (*)();
constinit Start start_hooks = nullptr;
constinit GrowingFloor floor_of_live{};
constinit std::uint32_t until_clock = 0;

void note_level_in(format::ArmedFile& file, std::int64_t level) {
  __atomic_store_n(&file.live, static_cast<std::uint64_t>(level > 0 ? level : 0), __ATOMIC_RELAXED);
  const std::int64_t most = __atomic_load_n(&armed_watch.highest, __ATOMIC_RELAXED);
  __atomic_store_n(&file.highest, static_cast<std::uint64_t>(most > 0 ? most : 0), __ATOMIC_RELAXED);
  __atomic_store_n(&armed_watch.noted, level, __ATOMIC_RELAXED);
}

// True if the level is well above the one in the file. `memtrace arm` prints that one for a process that
// computes without allocating.
bool has_risen(std::int64_t level) {
  const std::int64_t noted = __atomic_load_n(&armed_watch.noted, __ATOMIC_RELAXED);
  return level > noted + noted / 64;
}

// Writes the levels, and returns true if the process is called.
bool look_at_file(std::int64_t level, std::uint64_t* steps) {
  if (!has_armed_file() || os::calls_are_stopped() || (!has_risen(level) && !may_look_at_file())) return false;
  note_look_at_file();
  format::ArmedFile* const file = armed_file();
  if (file == nullptr) return false;
  note_level_in(*file, level);
  if (!is_called(*file)) return false;
  *steps = file->steps;
  return true;
}

// Threads may lose each other's looks, but a growth lasts longer than a minute.
bool grew(std::int64_t level) {
  if (settings.arm_growth == 0) return false;
  floor_of_live.see(level);
  if (until_clock-- != 0) return false;
  until_clock = kBetweenClocks;
  return floor_of_live.grew(os::monotonic_ns(), static_cast<std::int64_t>(settings.arm_growth));
}

// Sets the level above which the next event looks again: the highest one so far. Each event looks if growth is
// a call, and while a forked child is large enough for a file but too young.
void watch_above(std::int64_t level) {
  const bool waits = !has_armed_file() && !armed_file_was_tried() && is_large_enough();
  const std::int64_t before = __atomic_load_n(&armed_watch.look_above, __ATOMIC_RELAXED);
  const std::int64_t above = settings.arm_growth != 0 || waits ? INT64_MIN : level > before ? level : before;
  __atomic_store_n(&armed_watch.look_above, above, __ATOMIC_RELAXED);
}

// What small blocks hold whose flows are in no record yet: `told` is in the level, `untold` is not.
struct SmallLevel {
  std::int64_t told = 0;
  std::int64_t untold = 0;
};
SmallLevel small_level() { // threads lock held
  SmallLevel sum;
  for (std::uint32_t i = 0; i < threads_made(); ++i) {
    const Thread& thread = *thread_in_list(i);
    sum.told += change_of(thread.folded);
    if (thread.tid != 0) sum.untold += change_of(unpublished(thread));
  }
  return sum;
}

// The trace begins with the level of this instant. From then on, events are recorded. Returns false if another
// thread was first.
bool take_levels() {
  const Locked threads(threads_lock);
  const Locked events(arming_lock);
  if (!threads || !events || !is_armed()) return false;
  // The quick level is exact: threads do not keep parts of it yet.
  const SmallLevel small = small_level();
  begin_from_level(host_level() - small.told, small.told + small.untold, tensor_level_of_list());
  settings.stacks = settings.armed_stacks;
  __atomic_store_n(&settings.armed, false, __ATOMIC_RELEASE);
  return true;
}

} // namespace

void look_at_arming() {
  if (!has_armed_file() && due_to_begin()) make_armed_file();
  const std::int64_t level = host_level();
  if (level > __atomic_load_n(&armed_watch.highest, __ATOMIC_RELAXED))
    __atomic_store_n(&armed_watch.highest, level, __ATOMIC_RELAXED);
  std::uint64_t steps = 0;
  const bool called = look_at_file(level, &steps);
  const bool high = settings.arm_at != 0 && level >= static_cast<std::int64_t>(settings.arm_at);
  if (!called && !high && !grew(level)) return watch_above(level);
  if (!take_levels()) return;
  if (called) __atomic_store_n(&steps_wanted, steps, __ATOMIC_RELAXED);
  begin_recording();
  if (start_hooks != nullptr) start_hooks();
}

void when_called(Start start) {
  start_hooks = start;
}

} // namespace memtrace::record
