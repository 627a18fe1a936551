// Purpose: the rough level of each memory, which decides when recording begins and when memtrace measures RSS.
// Runs: inside the program's malloc.
#pragma once

#include <cstdint>

#include "preload/state/thread.h"

namespace memtrace::record {

// Adds `change` bytes to the level of a memory (0 host, n device n-1).
//
// Once all events go into rings, a thread keeps its part of the host's level to itself (LevelParts). It tells
// the process only when its part has changed by most_kept() since it did so last. So most events write no
// memory that other threads write. Before that, each event changes the level of the process.
void level(unsigned memory, std::int64_t change);
// Adds the bytes of a block to the host's levels of all blocks and of tensors, if the process is armed: it
// keeps nothing else of the block. Returns false if it is not armed, or the thread is inside the recorder: then
// the caller records the event. Keeps errno.
bool change_armed_levels(std::int64_t bytes, bool is_tensor);
// Return the level quickly. The host's level is off by less than most_kept() for each thread, at most 1 MiB for
// up to 256 threads; it is exact until threads keep their parts.
std::int64_t level_of(unsigned memory);
std::int64_t host_level();
// Returns the exact level, the sum of all parts. Takes the threads lock.
std::int64_t exact_host_level();
// Returns the bytes of births since the start, or since the fork that made this process: the sum of all parts.
// Takes the threads lock.
std::int64_t flows_since_fork();
void reset_flows();
// The bytes of live tensors as given, because a free does not say how many were asked. A forked child starts
// from them. The sum of all parts.
void tensor_level(std::int64_t change);
std::int64_t tensor_level();
std::int64_t tensor_level_of_list(); // the same; the caller holds the threads lock
// The bytes of live tensors on a device, in an armed process. They stay what they were when it began to record.
// In other processes they are 0, because only the records say them. The caller holds arming_lock.
void device_tensor_level(unsigned memory, std::int64_t change);
std::int64_t device_tensor_level_of(unsigned memory); // lock-free
// The bytes that PyTorch's allocator last said it holds of a device.
void device_reserved(unsigned memory, std::uint64_t bytes);
std::uint64_t device_reserved_of(unsigned memory);

// From now on, threads keep their parts.
void let_threads_keep_levels();
// Returns the most bytes that a thread keeps to itself.
std::int64_t most_kept();
// Called when there are `threads` threads: the more there are, the less each keeps.
void share_among(std::uint32_t threads);
// Moves the part of an ended thread to the process, before a new thread takes over the record. The caller holds
// the threads lock.
void keep_levels_of(const Thread& ended);
// In a forked child: moves the parts of all threads of the parent to the process. No thread keeps its part.
void levels_forked();

// True if any level has reached MEMTRACE_MIN_PEAK.
bool is_large_enough();
// True if a buffering process is large enough to be recorded. A forked child must also be old enough, because a
// younger one may exec or exit at once (see the contract, "a forked child").
bool due_to_begin();
// Sets when the process was born. `age_counts` is true in a forked child.
void set_birth(bool age_counts);
bool old_enough_to_record();

// Makes the drain wake once, when the host's level rises above `level`.
void watch_level(std::int64_t level);
void watch_no_level();

// Between these two calls, while recording begins, the ring file notes each new highest level. Threads record
// then, but there is no background thread.
void begin_to_note_levels();
void stop_noting_levels();
// Notes `level` in the ring file. Returns false if recording is not beginning.
bool note_level(std::int64_t level);
// Raises `noted` to `level`. If `noted` is 0, it stays 0: levels are no longer noted.
void raise(std::uint64_t& noted, std::uint64_t level);

} // namespace memtrace::record
