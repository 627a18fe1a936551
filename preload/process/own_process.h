// Purpose: the process that the state of the recorder belongs to: a child of vfork has the memory of its
// parent.
// Runs: on any thread.
#pragma once

#include "preload/format/records.h"

namespace memtrace::record {

// Makes the calling process the owner of the state. Returns the pid of the owner before it; 0: none. Call it
// when the process starts: the time of the call is that of its start.
int take_process();
struct ProcessStart {
  format::Stamp stamp;
  std::uint64_t unix_ns;
};
ProcessStart process_start();
// Returns false in a child of vfork, whose memory is its parent's.
bool is_own_process();

} // namespace memtrace::record
