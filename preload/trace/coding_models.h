// Purpose: the models of the threads' records, so that a segment can continue the coding of the one before.
// Runs: in the drain and, when its ring is full, on the program's thread; the pass lock is held.
#pragma once

#include "preload/format/predictor.h"

namespace memtrace::record {

// The eight threads that recorded last have a model. A ninth thread takes over the least recently used model.
inline constexpr std::uint32_t kModels = 8;
// A model restarts with the first segment that begins this many records after its last restart. A damaged
// segment makes the segments after it unreadable, up to the next restart. Restarts this far apart take 2 % more
// bytes than no restarts.
inline constexpr std::uint64_t kRestartRecords = 32 * 1024;

struct ThreadModel {
  format::Model model;
  std::uint32_t thread;  // index + 1
  std::uint32_t stretch; // of the last segment
  std::uint64_t begin;   // sequence at the restart
  std::uint64_t next;    // sequence after the last segment
  std::uint64_t used;    // number of its last use; the smallest one is the least recently used
};

// Returns the model for a segment that begins with `first`, or null if there is no memory. The model is
// restarted unless the segment is the next one of this thread and stretch.
ThreadModel* model_for(std::uint32_t thread, std::uint32_t stretch, std::uint64_t first);
// Notes that this segment is in the file, up to `next`. If a segment is not written, no segment continues its
// model.
void coded(ThreadModel& model, std::uint64_t next);
// Makes each model restart with its next segment: in a forked child, and when a trace begins.
void forget_models();
std::uint64_t model_bytes(); // private memory

} // namespace memtrace::record
