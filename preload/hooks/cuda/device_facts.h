// Purpose: queries the driver about its devices, by calls that memtrace does not hook.
// Runs: inside CUDA's calls, after the real one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::hooks::cuda {

// Returns the memory of the current context's device, as in records: n for device n-1. If no context is
// current: device 0.
unsigned current_memory();
// Returns 0 if no context is current.
std::uint64_t current_context();
// Returns the device's primary context; 0 if it is not active, or unknown. `device` -1: the current device of
// the runtime.
std::uint64_t active_primary(int device);
// True if the device has a primary context, or the driver does not answer.
bool primary_is_active(int device);
// Returns false, and writes nothing, if the driver does not answer.
bool memory_left(std::uint64_t* free, std::uint64_t* total);
// Returns the size of memory that another process or a pool allocated; 0 if the driver does not answer.
std::uint64_t bytes_at(std::uint64_t address);
// True if the stream is being captured: then an allocation on it becomes a node of a graph and uses no memory.
bool is_capturing(void* stream);

// Called after calls that may have changed the memory of a pool. A changed figure is recorded. `pool` null: the
// device's own pool.
void look_at_pools(void* pool);
void look_at_known_pools();
void pool_is_gone(void* pool);
// The driver allocates memory for the nodes of graphs at a launch, and keeps it until it is trimmed. It is
// recorded as one block per device. Before the first node is added, nothing is queried.
void graph_has_nodes();
void look_at_graph_memory();

} // namespace memtrace::hooks::cuda
