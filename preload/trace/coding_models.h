// Purpose: what is known of each thread's habits, so that its segments are coded on from each other.
// Runs: in the drain and, when its ring is full, on the program's thread, pass lock held.
#pragma once

#include "preload/format/predictor.h"

namespace memtrace::record {

// Of the threads that recorded last, eight at most; who comes ninth takes the place of the one longest silent.
inline constexpr std::uint32_t kModels = 8;
// A damaged segment costs those that follow it up to the next restart: so many records. Restarts this far apart
// take 2 % more bytes than none would.
inline constexpr std::uint64_t kRestartRecords = 32 * 1024;

struct ThreadModel {
  format::Model model;
  std::uint32_t thread; // index + 1
  std::uint32_t window; // file of the last segment
  std::uint64_t begin;  // sequence at the restart
  std::uint64_t next;   // sequence after the last segment
  std::uint64_t used;   // by which it is told who was silent
};

// The model for a segment that begins with `first`: restarted unless it is the next one of this thread, file
// and run of segments. Null: no memory.
ThreadModel* model_for(std::uint32_t thread, std::uint32_t window, std::uint64_t first);
// That segment is in the file, up to `next`. A segment that is not written leaves a model that is never
// continued.
void coded(ThreadModel& model, std::uint64_t next);
// In a forked child, and when a trace begins.
void forget_models();
std::uint64_t model_bytes(); // of private memory

} // namespace memtrace::record
