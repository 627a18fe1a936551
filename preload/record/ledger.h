// Room: record. The background thread.
// Job: a ledger that was taken -> records of the trace.
#pragma once

#include <cstdint>

#include "preload/record/resident.h"

namespace memtrace::record {

// False: it could not be written.
bool write_ledger(const Residents& residents, std::uint16_t flags);

// In a forked child: its trace starts anew.
void forget_ledger_records();

} // namespace memtrace::record
