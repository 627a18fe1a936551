// Purpose: the rough level of each memory, by which recording begins and looks at RSS are made.
// Runs: inside the program's malloc.
#pragma once

#include <cstdint>

namespace memtrace::record {

// Moves the level of a memory (0 host, n device n-1). Bytes.
void level(unsigned memory, std::int64_t change);
std::int64_t level_of(unsigned memory);
std::int64_t host_level();
// Returns the bytes of births since the start, or since the fork that made this process.
std::int64_t flows_since_fork();
void reset_flows();
// Bytes of live tensors as given (a free does not say what was asked), for a forked child to start from.
void tensor_level(std::int64_t change);
std::int64_t tensor_level();

// True if some level has reached MEMTRACE_MIN_PEAK.
bool is_large_enough();
// True if a cold process is large enough to be recorded, and old enough if it is a forked child: a younger one
// may exec or exit at once (see the contract, "a forked child").
bool due_to_begin();
// The process begins its life: `age_counts` in a forked child.
void set_birth(bool age_counts);
bool old_enough_to_record();

// From here on the drain is woken when the host's level rises above `level`, once.
void watch_level(std::int64_t level);
void watch_no_level();

// Between these two, while recording begins, the ring file notes each new highest level: threads record then,
// and there is no background thread.
void begin_to_note_levels();
void stop_noting_levels();
// Notes `level` in the ring file. Returns false if recording is not beginning.
bool note_level(std::int64_t level);
// Raises `noted` to `level`. 0 stays: then nothing is noted any more.
void raise(std::uint64_t& noted, std::uint64_t level);

} // namespace memtrace::record
