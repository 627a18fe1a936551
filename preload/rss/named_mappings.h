// Purpose: what of the mappings that have a name is in memory: files, libraries, shared memory.
// Runs: on the background thread.
#pragma once

#include <cstdint>

#include "preload/kernel/look_budget.h"
#include "preload/rss/ledger_rows.h"

namespace memtrace::record {

struct Named {
  std::uint64_t when;
  std::uint64_t pages;     // bytes of files and shared memory in RSS then
  std::uint64_t huge;      // of the pool of huge pages: in no RSS
  std::uint64_t anonymous; // bytes of private copies of files: not in that count
  LedgerAmount row[format::kLedgerRows];
};
// As they were last told.
const Named& named_mappings();

// Tells them anew where the kernel's count of such pages moved, or after a while: libraries' own data, which is
// not in that count, changes while they are loaded. False: the turn is over, and the next call goes on.
bool look_at_named(const Turn& turn);
// What was not done is begun anew.
void leave_named();

// In a forked child.
void forget_named_mappings();

} // namespace memtrace::record
