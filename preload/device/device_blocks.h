// Purpose: remembers device blocks by address, because a free gives neither their size nor their device.
// Runs: inside the calls of CUDA's runtime and driver.
#pragma once

#include "preload/blocks/recording.h"

namespace memtrace::record {

// Called after the real call, by the hooks or by CUPTI's callback, whichever records device memory
// (device/device_call_scope.h). If `block.flags` has kNoAccess, the block is a reservation, or memory of
// another process. It is recorded, but counts in no level. If the table has no room, the block's birth and
// death are not recorded, and the loss is counted. `context` is the CUDA context whose end also ends the block.
// 0: none, or not known.
void device_born(const HookedBlock& block, std::uint64_t context = 0);
// `kind` selects the table: `registered`, or any other kind. Ignores an address that is not in the table.
void device_died(std::uint64_t address, format::Kind kind, format::Stamp death);

// The physical memory of cuMemCreate and similar calls is born with its handle. It dies when the handle is
// released as often as it was taken, and its last mapping is gone. `Block::address` is the handle. If the
// handle is known (imported into the process that exported it), it is taken once more.
void handle_born(const HookedBlock& block);
void handle_taken(std::uint64_t handle);
void handle_released(std::uint64_t handle, format::Stamp death);
void handle_mapped(std::uint64_t address, std::uint64_t bytes, std::uint64_t handle);
// Ends all mappings in [address, address + bytes).
void handle_unmapped(std::uint64_t address, std::uint64_t bytes, format::Stamp death);

// Records the line that makes a context. It is a block without bytes: no call says how much memory a context
// takes. `device`: CUDA's ordinal; nothing is recorded if it is below 0 or has no place in a record.
void context_born(std::uint64_t context, int device);
// Ends all live blocks of that context, and itself. A later free of one of them is ignored.
void context_died(std::uint64_t context, format::Stamp death);

// Records which devices are in use, when a process that was armed begins to record. The caller is inside a
// hook, with its guard held.
void announce_held_devices();

// Called in a forked child. It keeps its parent's table, unless another thread was changing the table.
void device_memory_forked();

// True if pinned or registered memory is held: then the framework's allocator of pinned memory can be queried.
bool pinned_memory_is_held();

// Returns the private memory of the table.
std::uint64_t device_memory_bytes();

} // namespace memtrace::record
