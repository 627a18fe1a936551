// Purpose: what the driver says of its devices, asked by calls that we do not stand before.
// Runs: inside CUDA's calls, after the real one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::hooks::cuda {

// Of the current context: 0 the host, n device n-1, as records have it. Device 0 where there is no context.
unsigned current_memory();
// 0: none is current.
std::uint64_t current_context();
// The device's primary context, -1 of the runtime's current device; 0: it is not active, or nobody says.
std::uint64_t active_primary(int device);
// False, with nothing written: the driver does not say.
bool memory_left(std::uint64_t* free, std::uint64_t* total);
// Of an address that another process, or a pool, gave: 0 where the driver does not say.
std::uint64_t bytes_at(std::uint64_t address);
// What is allocated on it becomes a node of a graph, not memory.
bool is_capturing(void* stream);

// After calls that may have changed what pools of memory hold: said where that is no longer what it was. `pool`
// null: the device's own.
void look_at_pools(void* pool);
void look_at_known_pools();
void pool_is_gone(void* pool);
// The memory that the driver keeps for the nodes of graphs is there from a launch on, and stays until it is
// trimmed: one block for each device. Before a node was ever added there is none.
void graph_has_nodes();
void look_at_graph_memory();

} // namespace memtrace::hooks::cuda
