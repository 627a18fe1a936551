// Purpose: what of this process is in memory, by what it is for: the rows of its ledger. None is made by
// subtraction.
// Runs: on the background thread.
#pragma once

#include <cstdint>

#include "preload/kernel/look_budget.h"
#include "preload/rss/ledger_handshake.h"
#include "preload/rss/ledger_rows.h"

namespace memtrace::record {

enum class LedgerProgress : std::uint8_t { done, later, failed };

// Walks the page tables and the blocks that are alive: some ms for each GiB. Allocates nothing. `answer`: what
// the allocator said last. `later`: the turn is over, and the next call goes on where this one stopped.
// `failed`: the kernel does not say which pages are there.
LedgerProgress take_residents(const AllocatorAnswer& answer, const Turn& turn, Residents* out);
// Adds what nobody has to stand for: mappings that have a name, and how full Python's arenas are. While
// libraries are loaded that is the most of it, 4 ms of 5. False: the turn is over, as above.
bool complete_residents(const Turn& turn, Residents* out);
// What was not done is begun anew by the next call.
void leave_residents();

// In a forked child.
void forget_residents();

} // namespace memtrace::record
