// Purpose: finds the address space limit that made an allocation fail.
// Runs: inside the program's malloc, on its thread.
#pragma once

#include <cstdint>

#include "preload/format/records.h"

namespace memtrace::record {

struct AddressLimit {
  std::uint64_t free = format::kNotSaid;
  std::uint64_t total = format::kNotSaid; // RLIMIT_AS or RLIMIT_DATA; kNotSaid: neither limit was the cause
};

// Returns the limit that `asked` more bytes exceed, by the kernel's present figures. A sample of the background
// thread would come too late if the program frees its memory and exits. Takes about 30 us if a limit is set.
// Async-signal-safe.
AddressLimit address_limit(std::uint64_t asked);

} // namespace memtrace::record
