// Purpose: facts about PyTorch's allocators that the CUDA hooks need.
// Runs: inside PyTorch's allocators.
#pragma once

#include <cstddef>

namespace memtrace::hooks {

// Returns how many of `given` bytes the tensor requested. PyTorch's pinned allocator rounds up to powers of
// two, so the size of the storage that this thread computed last is used. Returns `given` if the block is not
// for a tensor.
std::size_t torch_asked(std::size_t given);

// True if the address is in PyTorch's allocator of device memory. Its cudaMallocAsync backend allocates
// tensors, and does not report them to the profiler.
bool is_torch_allocator(const void* code);

} // namespace memtrace::hooks
