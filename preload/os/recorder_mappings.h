// Purpose: which private mappings are the recorder's own: the kernel merges them with the program's next to
// them.
// Runs: on any thread.
#pragma once

#include <cstddef>

#include "preload/os/address_ranges.h"

namespace memtrace::record {

using OwnRanges = NotedRanges<256>; // of a process of 4,096 threads: 100

// What does not fit is not noted: it is then unexplained in the ledger.
void note_own(const void* address, std::size_t bytes);
void forget_own(const void* address);
void own_stays_behind(const void* address);
// In a forked child: what stayed behind is not its own.
void forget_own_of_parent();

const OwnRanges& own_ranges();

} // namespace memtrace::record
