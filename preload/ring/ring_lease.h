// Purpose: takes longer rings back from threads that do not need them, if there are too few.
// Runs: inside the program's malloc, and in the drain.
#pragma once

#include <cstdint>

#include "preload/bounded/spin_lock.h"

namespace memtrace::record {

// The thread that holds this lock may give a slot or a longer ring to a thread, or take it back.
extern constinit SpinLock slots_lock;

// The slot of all threads that have no slot of their own.
inline constexpr std::uint32_t kSharedSlot = 1;

// Set if a thread got no longer ring, or no slot, since the last pass.
void set_short_of_rings(bool is_short);
void set_no_slots(bool none);
bool there_are_no_slots();

// Takes the longer ring of this slot back if a thread got none. The pass found no record in the ring. The
// caller holds the pass lock.
void take_back_if_short(std::uint32_t slot);
// Resets both flags and frees outgrown rings at the end of a pass. The caller holds the pass lock.
void settle_rings();

} // namespace memtrace::record
