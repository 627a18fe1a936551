// Purpose: which device a context is of, and how much code was loaded there.
// Runs: inside CUPTI's callbacks.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace memtrace::cupti {

// Asks CUPTI once for each context, no lock is taken. -1: no context, or CUPTI does not say.
int device_of(CUcontext context);
void forget_context(CUcontext context);

// Bytes of cubins, as the host has them: what the card takes for them is at least that.
void code_loaded(int device, std::uint64_t bytes);
void code_unloaded(int device, std::uint64_t bytes);
std::uint64_t code_on(int device);

} // namespace memtrace::cupti
