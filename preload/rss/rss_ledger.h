// Purpose: the resident memory of this process by its use: the rows of its ledger. No row is made by
// subtraction.
// Runs: on the background thread.
#pragma once

#include <cstdint>

#include "preload/kernel/look_budget.h"
#include "preload/rss/ledger_handshake.h"
#include "preload/rss/ledger_rows.h"

namespace memtrace::record {

enum class LedgerProgress : std::uint8_t { done, later, failed };

// Walks the page tables and the live blocks: some ms for each GiB of resident memory. Does not allocate.
// `answer`: the last answer of the allocator. Returns `later` if the turn is over; the next call continues.
// Returns `failed` if the kernel does not tell which pages are resident.
LedgerProgress take_residents(const AllocatorAnswer& answer, const Turn& turn, Residents* out);
// Adds the parts that need no paused thread: mappings that have a name, and how full Python's arenas are. While
// the program loads libraries, these parts take most of the ledger's time: 4 ms of 5 ms. Returns false if the
// turn is over; the next call continues.
bool complete_residents(const Turn& turn, Residents* out);
// Abandons a ledger that is half done; the next call starts again.
void leave_residents();

// Resets the state in a forked child.
void forget_residents();

} // namespace memtrace::record
