// Purpose: the device of each context, and the bytes of code that were loaded there.
// Runs: inside CUPTI's callbacks.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace memtrace::cupti {

// Returns the device of a context. Queries CUPTI once per context, without a lock. -1: no context, or not
// known.
int device_of(CUcontext context);
void forget_context(CUcontext context);

// Bytes of cubins on the host's side. The GPU uses at least as many.
void code_loaded(int device, std::uint64_t bytes);
void code_unloaded(int device, std::uint64_t bytes);
std::uint64_t code_on(int device);

} // namespace memtrace::cupti
