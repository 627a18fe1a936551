// Purpose: mlockall is about the program's memory: the recorder's own is neither locked nor counted against its
// limit.
// Runs: inside the program's mlockall.
#pragma once

#include <cstdint>

namespace memtrace::record {

// Bytes of all mappings but the recorder's own; ~0 where /proc cannot tell.
std::uint64_t program_bytes();
// Locks all mappings but the recorder's own, as MCL_CURRENT does: those that cannot be locked are passed over.
void lock_program(bool on_fault);
// Unlocks the recorder's own mappings.
void unlock_own();

} // namespace memtrace::record
