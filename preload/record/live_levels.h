// Purpose: the rough level of each memory, which decides when recording begins and when memtrace measures RSS.
// Runs: inside the program's malloc.
#pragma once

#include <cstdint>

namespace memtrace::record {

// Adds `change` bytes to the level of a memory (0 host, n device n-1).
void level(unsigned memory, std::int64_t change);
std::int64_t level_of(unsigned memory);
std::int64_t host_level();
// Returns the bytes of births since the start, or since the fork that made this process.
std::int64_t flows_since_fork();
void reset_flows();
// The bytes of live tensors as given, because a free does not say how many were asked. A forked child starts
// from them.
void tensor_level(std::int64_t change);
std::int64_t tensor_level();

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
