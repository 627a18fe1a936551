// Purpose: writes a ledger that was taken as records of the trace.
// Runs: on the background thread.
#pragma once

#include <cstdint>

#include "preload/rss/rss_ledger.h"

namespace memtrace::record {

// Returns false if the ledger could not be written.
bool write_ledger(const Residents& residents, std::uint16_t flags);

// Resets the state in a forked child, whose trace is new.
void forget_ledger_records();

} // namespace memtrace::record
