// Purpose: copies the files of one trace from a local directory to the job's directory on a shared file system.
// Runs: on memtrace's own thread.
#pragma once

#include "preload/bounded/fixed_string.h"
#include "preload/copies/copy_state.h"
#include "preload/format/shared_files.h"

namespace memtrace::record {

// copy_appended() and copy_rest() return 0 if they copied everything, kStopped if `go_on` ended the copy before
// that, else a negative errno. A stopped copy continues where it ended.
inline constexpr long kStopped = 1;
inline constexpr std::size_t kCopyPiece = 256 * 1024; // bytes between two calls of `go_on`

// How far STEM.rest is copied.
struct RestProgress {
  std::uint32_t file = 0;            // index in format::kOtherSuffixes
  std::uint64_t done = 0;            // bytes of this file
  std::uint64_t end = format::kPage; // its offset in STEM.rest
  format::RestHeader header{};       // names the files before it
};

// Appends to `to` the bytes of `from` from `*done` on, and raises `*done`. The file at `to` begins with the
// same bytes, so a repeated copy of a part changes nothing. Makes the file if `*done` is 0. `synced`: the
// server has all bytes when it returns 0. After an error, `*done` is as before.
long copy_appended(const char* from, const char* to, std::uint64_t* done, GoOn go_on, bool synced = false);

// Writes the other files of the trace, if there are any, to `shared`.rest. `local` and `shared` are stems.
// After an error, `*progress` is empty.
long copy_rest(const char* local, const char* shared, RestProgress* progress, GoOn go_on);

// In a forked child, which does not have the memory that pieces are read into.
void forget_copy_buffer();

// True if a process has copied all files of the trace. It may have been killed while it removed the local ones.
bool was_copied(const char* local);

// Removes the local files, which are copied. STEM.copied keeps their size for the job's bound, and the header
// of a ring file stays, from which the next attempt reads how this one ended.
void remove_copied(const char* local);

// Returns `stem` with a suffix. The text is valid until the next call.
const char* with_suffix(const char* stem, const char* suffix);

} // namespace memtrace::record
