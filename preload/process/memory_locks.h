// Purpose: mlockall applies to the program's memory: the recorder's own is not locked and does not count
// against the limit.
// Runs: inside the program's mlockall.
#pragma once

#include <cstdint>

namespace memtrace::record {

// Returns the bytes of all mappings but the recorder's own; ~0 if /proc cannot be read.
std::uint64_t program_bytes();
// Locks all mappings but the recorder's own, as MCL_CURRENT does: mappings that cannot be locked are skipped.
void lock_program(bool on_fault);
// Unlocks the recorder's own mappings.
void unlock_own();

} // namespace memtrace::record
