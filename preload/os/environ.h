// Purpose: the environment, read and added to without getenv and setenv: bash has its own of both, which need
// bash's tables, and those are not there yet when a preload object's constructor runs.
// Runs: in the constructor.
#pragma once

namespace memtrace::record {

// The value of `name`, null if it is not set.
const char* environment(const char* name);
// The same, null also if it is empty.
const char* environment_text(const char* name);

// Adds or replaces `NAME=value`, for this program and those it starts. The text is kept, not copied; false when
// memory is short. No other thread runs yet.
bool add_to_environment(const char* assignment);

} // namespace memtrace::record
