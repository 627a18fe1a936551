// Purpose: what they gave, by address: a free says neither how much that was nor on which device.
// Runs: inside the calls of CUDA's runtime and driver.
#pragma once

#include "preload/blocks/recording.h"

namespace memtrace::record {

// Called after the real call, by whoever owns device memory (device/device_call_scope.h). `Block::flags`
// kNoAccess: a reservation, or memory of somebody else that is only mapped here; it is written down and counts
// in no level. What finds no room in the table is lost and counted so, birth and death alike. `context`: what
// it goes with at the latest; 0: it is the device's own, or nobody knows.
void device_born(const HookedBlock& block, std::uint64_t context = 0);
// Of a kind that shares the block's table: `registered`, or any other. An address that was not born: nothing.
void device_died(std::uint64_t address, format::Kind kind, format::Stamp death);

// The physical memory of cuMemCreate and its like: born with its handle, dead when that is released as often as
// it was taken and the last mapping of it is gone. `Block::address` is the handle. A handle that is known
// already (imported into the process that exported it) is taken once more.
void handle_born(const HookedBlock& block);
void handle_taken(std::uint64_t handle);
void handle_released(std::uint64_t handle, format::Stamp death);
void handle_mapped(std::uint64_t address, std::uint64_t bytes, std::uint64_t handle);
// All that is mapped in [address, address + bytes).
void handle_unmapped(std::uint64_t address, std::uint64_t bytes, format::Stamp death);

// All that was born in that context and is still there. What is freed later is not known any more.
void context_died(std::uint64_t context, format::Stamp death);

// In a forked child. It has what its parent had, unless another thread was changing the table.
void device_memory_forked();

// True if pinned memory or registered memory is held: the framework's allocator of pinned memory may be asked.
bool pinned_memory_is_held();

// Private memory of the table.
std::uint64_t device_memory_bytes();

} // namespace memtrace::record
