// Purpose: tensors on the current device, as its caching allocator gives them.
// Shared by the fake libc10_cuda.so and the programs that use it.
#pragma once

#include <cstddef>

extern "C" {
void* fake_cuda_tensor(std::size_t bytes); // null: out of memory
void fake_cuda_drop(void* tensor);
void fake_cuda_empty_cache();
std::size_t fake_cuda_allocated();
std::size_t fake_cuda_reserved();
}
