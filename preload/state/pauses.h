// Purpose: the pauses of the program's threads: their longest allowed length, and their histogram. Once there
// is a ring file, the histogram is in it, so it outlives the process.
// Runs: inside the program's malloc.
#pragma once

#include "preload/format/file_headers.h"

namespace memtrace::record {

// Returns the longest time for which a ledger may pause a thread, in ns. All ranks of a job wait in the next
// collective for the rank that was paused last, so the pause of a rank is short.
std::uint64_t longest_ledger_pause();
// From now on this process counts as one of several ranks. A forked child inherits that.
void is_one_of_ranks();

// Adds a pause of `ns` to the histogram. May be called on any thread at any time.
void count_pause(std::uint64_t ns);
format::Pauses pauses_so_far();

// From now on keeps the histogram in `header`, and adds the counts so far to it. Null: counts from 0, in
// private memory.
void keep_pauses_in(format::RingFileHeader* header);

} // namespace memtrace::record
