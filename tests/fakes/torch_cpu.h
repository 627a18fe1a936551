// Purpose: PyTorch's names of tensors' storage with their real mangling, and tensors as those are made.
// Shared by the fake libtorch_cpu.so, libtorch_cuda.so and the programs that use them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/fakes/c10.h"

namespace c10 {

// As PyTorch's: two words, passed in two registers.
template <class T>
class ArrayRef {
 public:
  ArrayRef(const T* data, std::size_t length) : data_(data), length_(length) {}
  const T* begin() const { return data_; }
  const T* end() const { return data_ + length_; }
  T operator[](std::size_t i) const { return data_[i]; }

 private:
  const T* data_;
  std::size_t length_;
};

} // namespace c10

namespace at::detail {

std::size_t computeStorageNbytesContiguous(c10::ArrayRef<long> sizes, std::size_t item, std::size_t offset);
std::size_t computeStorageNbytes(c10::ArrayRef<long> sizes, c10::ArrayRef<long> strides, std::size_t item,
                                 std::size_t offset);

} // namespace at::detail

struct FakeHostStats { // of at::HostStats
  std::size_t active_bytes, allocated_bytes;
};

extern "C" {
// torch.empty(numbers, pin_memory=pinned), and what becomes of it; Tensor.pin_memory().
void* fake_torch_empty(long numbers, std::size_t item, bool pinned);
void* fake_torch_pin(long numbers, std::size_t item);
void fake_torch_drop(void* storage, bool pinned);
// Of libtorch_cuda.so, at load.
void fake_torch_register_host_allocator(void* (*allocate)(std::size_t), void (*release)(void*));
void fake_torch_host_stats(FakeHostStats* out);
// at::CachingHostAllocator_emptyCache
void fake_torch_empty_host_cache();
}
