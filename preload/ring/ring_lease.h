// Purpose: takes longer rings back from threads that do not need them, when others do.
// Runs: inside the program's malloc, and in the drain.
#pragma once

#include <cstdint>

#include "preload/bounded/spin_lock.h"

namespace memtrace::record {

// Who holds it may give a slot or a longer ring to a thread, or take it back.
extern constinit SpinLock slots_lock;

// The slot that threads without one share.
inline constexpr std::uint32_t kSharedSlot = 1;

// Since the last pass a thread was refused a longer ring, or a slot.
void set_short_of_rings(bool is_short);
void set_no_slots(bool none);
bool there_are_no_slots();

// If a thread was refused a longer ring, takes the one of this slot, in which the pass found nothing. Pass lock
// held.
void take_back_if_short(std::uint32_t slot);
// At the end of a pass, pass lock held.
void settle_rings();

} // namespace memtrace::record
