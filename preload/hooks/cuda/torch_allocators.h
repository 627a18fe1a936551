// Purpose: what the other hooks ask of PyTorch's.
// Runs: inside PyTorch's allocators.
#pragma once

#include <cstddef>

namespace memtrace::hooks {

// PyTorch's pinned allocator takes powers of two: how many of `given` bytes the tensor asked for that this
// thread is about to make. `given` where it was not for one.
std::size_t torch_asked(std::size_t given);

// Is that address in PyTorch's allocator of device memory? What it takes by cudaMallocAsync are tensors, of
// which it reports none.
bool is_torch_allocator(const void* code);

} // namespace memtrace::hooks
