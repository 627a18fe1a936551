// Purpose: whether the process is armed: it counts and keeps levels, and records when it is called.
// Runs: inside each hook that records.
#pragma once

#include <cstdint>

#include "preload/bounded/spin_lock.h"
#include "preload/format/armed_file.h"
#include "preload/os/gate/syscall_gate.h"
#include "preload/state/recorder_state.h"
#include "preload/state/settings.h"

namespace memtrace::record {

// True until the process is called. Its state is `buffering`, but nothing is kept except levels.
inline bool is_armed() {
  return __atomic_load_n(&settings.armed, __ATOMIC_RELAXED);
}

// True if the process is traced and keeps more of a block than levels.
inline bool keeps_blocks() {
  return active() && !is_armed();
}

// An event of an armed process holds it while it changes a level. The call takes it, too, so each block is
// either in the level at that time or in the trace.
extern constinit SpinLock arming_lock;

// What each event of an armed process reads.
struct ArmedWatch {
  format::ArmedFile* file; // as mapped; null before there is one. Another process may cut it at any time
  std::int64_t look_above; // look_at_arming() is due if the host's level is above this
  std::uint64_t looked_at; // the time stamp counter when the process looked at the file
  std::int64_t noted;      // level in the file
  std::int64_t highest;    // the highest level of the host at a look
};
extern constinit ArmedWatch armed_watch;

// To look at the file, the process asks the kernel whether the mapping still has it. So it looks once in four
// milliseconds at most (at 2 GHz). With the clock instead of the counter, a loop of malloc and free took 1.37
// of the CPU time. If the counter went back, the next event looks. If a program forbids the counter, system
// calls are stopped, too.
inline bool may_look_at_file() {
  constexpr std::uint64_t kBetweenLooks = 8'000'000;
  return !os::calls_are_stopped() &&
         __builtin_ia32_rdtsc() - __atomic_load_n(&armed_watch.looked_at, __ATOMIC_RELAXED) >= kBetweenLooks;
}
inline void note_look_at_file() {
  __atomic_store_n(&armed_watch.looked_at, __builtin_ia32_rdtsc(), __ATOMIC_RELAXED);
}

// The steps that `memtrace arm --steps` asked for; 0: no end. The drain sets `stop_is_due` once they are over,
// and the next mark of a phase stops the recording.
extern constinit std::uint64_t steps_wanted;
extern constinit bool stop_is_due;

} // namespace memtrace::record
