// Purpose: reads and extends the environment without getenv and setenv. Bash defines its own getenv and setenv.
// They need tables that do not exist yet when the constructor of a preloaded library runs.
// Runs: in the constructor.
#pragma once

namespace memtrace::record {

// Returns the value of `name`, or null if it is not set.
const char* environment(const char* name);
// Remembers the variables that the start of the recorder reads, because the program may change its environment
// before its first event. The texts are not copied.
void remember_environment();
// Returns the value of such a variable at that time, or null if it was not set.
const char* start_environment(const char* name);
// Returns the value of `name`, or null if it is not set or is empty.
const char* environment_text(const char* name);

// Adds or replaces `NAME=value` for this program and the programs that it starts. The text is not copied, so it
// must stay valid. Returns false if memory is short. No other thread may run yet.
bool add_to_environment(const char* assignment);

} // namespace memtrace::record
