// Purpose: the resident parts of mappings that have a name: files, libraries, shared memory.
// Runs: on the background thread.
#pragma once

#include <cstdint>

#include "preload/kernel/look_budget.h"
#include "preload/rss/ledger_rows.h"

namespace memtrace::record {

struct Named {
  std::uint64_t when;
  std::uint64_t pages;     // bytes of files and shared memory in RSS at `when`
  std::uint64_t huge;      // bytes of the pool of huge pages: not in RSS
  std::uint64_t anonymous; // bytes of private copies of files: not in `pages`
  LedgerAmount row[format::kLedgerRows];
};
// Returns the figures of the last look.
const Named& named_mappings();

// Measures the mappings again if the kernel's count of such pages has changed, or after a while. Libraries' own
// data is not in that count, and it changes while they are loaded. Returns false if the turn is over; the next
// call continues.
bool look_at_named(const Turn& turn);
// Abandons a look that is half done; the next one starts again.
void leave_named();

// Resets the state in a forked child.
void forget_named_mappings();

} // namespace memtrace::record
