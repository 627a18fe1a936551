// Purpose: which limit of the address space an allocation met that failed.
// Runs: inside the program's malloc, on its thread.
#pragma once

#include <cstdint>

#include "preload/format/records.h"

namespace memtrace::record {

struct AddressLimit {
  std::uint64_t free = format::kNotSaid;
  std::uint64_t total = format::kNotSaid; // RLIMIT_AS or RLIMIT_DATA; none: neither was in the way
};

// By the kernel's figures at this moment; a sample of the background thread's comes too late for a program that
// frees what it has and gives up. Some 30 us, where a limit is set; async-signal-safe.
AddressLimit address_limit(std::uint64_t asked);

} // namespace memtrace::record
