// Purpose: whether the process is armed: it counts and keeps levels, and records when it is called.
// Runs: inside each hook that records.
#pragma once

#include <cstdint>

#include "preload/bounded/spin_lock.h"
#include "preload/format/armed_file.h"
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
  format::ArmedFile* file; // as mapped; null before there is one. `memtrace arm` may write it at any time
  std::int64_t look_above; // look_at_arming() is due if the host's level is above this
};
extern constinit ArmedWatch armed_watch;

// The steps that `memtrace arm --steps` asked for; 0: no end. The drain sets `stop_is_due` once they are over,
// and the next mark of a phase stops the recording.
extern constinit std::uint64_t steps_wanted;
extern constinit bool stop_is_due;

} // namespace memtrace::record
