// Purpose: a ledger that was taken -> records of the trace.
// Runs: on the background thread.
#pragma once

#include <cstdint>

#include "preload/rss/rss_ledger.h"

namespace memtrace::record {

// False: it could not be written.
bool write_ledger(const Residents& residents, std::uint16_t flags);

// In a forked child: its trace starts anew.
void forget_ledger_records();

} // namespace memtrace::record
