// Purpose: remembers the recorder's own private mappings, because the kernel merges them with adjacent ones of
// the program.
// Runs: on any thread.
#pragma once

#include <cstddef>

#include "preload/os/address_ranges.h"

namespace memtrace::record {

using OwnRanges = NotedRanges<256>; // a process of 4,096 threads has 100

// If the table is full, the mapping is not noted, and is then unexplained in the ledger.
void note_own(const void* address, std::size_t bytes);
void forget_own(const void* address);
void own_stays_behind(const void* address);
// In a forked child: removes from this table the mappings that the child did not inherit.
void forget_own_of_parent();

const OwnRanges& own_ranges();

} // namespace memtrace::record
