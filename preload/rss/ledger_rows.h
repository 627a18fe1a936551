// Purpose: the rows of a process's ledger.
// Runs: on the background thread.
#pragma once

#include <cstdint>

#include "preload/format/records.h"

namespace memtrace::record {

// Returns a - b, 0 if b is larger.
inline std::uint64_t saturating_sub(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : 0;
}

struct LedgerAmount {
  std::uint64_t resident = 0;
  std::uint64_t given = 0; // bytes, resident or not; 0: not known
  std::uint64_t parts = 0; // blocks, mappings
  bool sampled = false;    // estimated from some of the parts
};

struct Residents {
  std::uint64_t total = 0; // as the kernel counts it, just before the rows were summed up
  std::uint64_t drift = 0; // bytes that changed meanwhile, or since the allocator was queried
  bool allocator_asked = false;
  std::uint64_t cost = 0;  // CPU time of the background thread, ns
  std::uint64_t stood = 0; // pauses of the program's threads for ledgers so far, ns
  LedgerAmount row[format::kLedgerRows];

  LedgerAmount& operator[](format::LedgerRow which) { return row[static_cast<std::size_t>(which)]; }
};

} // namespace memtrace::record
