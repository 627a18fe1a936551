// Purpose: the process that the state of the recorder belongs to: a child of vfork has the memory of its
// parent.
// Runs: on any thread.
#pragma once

#include "preload/format/records.h"

namespace memtrace::record {

// Makes the calling process the owner of the state, and now its start time. Returns the pid of the owner before
// it; 0: none.
int take_process();
struct StartTime {
  format::Stamp stamp;
  std::uint64_t unix_ns;
};
StartTime start_time();
// Returns false in a child of vfork, whose memory is its parent's.
bool is_own_process();

} // namespace memtrace::record
