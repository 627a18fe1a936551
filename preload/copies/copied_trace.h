// Purpose: copies the files of one trace from a local directory to the job's directory on a shared file system.
// Runs: on memtrace's own thread.
#pragma once

#include "preload/bounded/fixed_string.h"
#include "preload/copies/copy_state.h"

namespace memtrace::record {

// copy_appended() and copy_rest() return 0 if they copied everything, kStopped if the thread has to end first,
// else a negative errno.
inline constexpr long kStopped = 1;

// Appends to `to` the bytes of `from` from `*done` on, and raises `*done`. The file at `to` begins with the
// same bytes, so a repeated copy of a part changes nothing. Makes the file if `*done` is 0. `synced`: the
// server has all bytes when it returns 0. After an error, `*done` is as before.
long copy_appended(const char* from, const char* to, std::uint64_t* done, GoOn go_on, bool synced = false);

// Writes the other files of the trace, if there are any, to `shared`.rest. `local` and `shared` are stems.
long copy_rest(const char* local, const char* shared, GoOn go_on);

// True if a process has copied all files of the trace. It may have been killed while it removed the local ones.
bool was_copied(const char* local);

// Removes the local files, which are copied. STEM.copied keeps their size for the job's bound, and the header
// of a ring file stays, from which the next attempt reads how this one ended.
void remove_copied(const char* local);

// Returns `stem` with a suffix. The text is valid until the next call.
const char* with_suffix(const char* stem, const char* suffix);

} // namespace memtrace::record
