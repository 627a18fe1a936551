// Purpose: the bytes of a tensor's storage are computed, then an allocator is asked for them: through the PLT,
// as there. Stands for PyTorch's libtorch_cpu.so.
#include "tests/fakes/torch_cpu.h"

namespace {

void* (*pinned_allocate)(std::size_t) = nullptr;
void (*pinned_release)(void*) = nullptr;

void* allocate(std::size_t bytes, bool pinned) {
  return pinned ? pinned_allocate(bytes) : c10::alloc_cpu(bytes);
}

} // namespace

namespace at::detail {

std::size_t computeStorageNbytesContiguous(c10::ArrayRef<long> sizes, std::size_t item, std::size_t offset) {
  std::size_t numbers = 1;
  for (const long size : sizes) numbers *= static_cast<std::size_t>(size);
  return item * (offset + numbers);
}

std::size_t computeStorageNbytes(c10::ArrayRef<long> sizes, c10::ArrayRef<long> strides, std::size_t item,
                                 std::size_t offset) {
  std::size_t last = 1;
  std::size_t i = 0;
  for (const long size : sizes) last += static_cast<std::size_t>(strides[i++] * (size - 1));
  return item * (offset + last);
}

} // namespace at::detail

void* fake_torch_empty(long numbers, std::size_t item, bool pinned) {
  return allocate(at::detail::computeStorageNbytesContiguous({&numbers, 1}, item, 0), pinned);
}
void* fake_torch_pin(long numbers, std::size_t item) {
  const long stride = 1;
  return allocate(at::detail::computeStorageNbytes({&numbers, 1}, {&stride, 1}, item, 0), true);
}
void fake_torch_drop(void* storage, bool pinned) {
  pinned ? pinned_release(storage) : c10::free_cpu(storage);
}
void fake_torch_register_host_allocator(void* (*allocate_pinned)(std::size_t), void (*release_pinned)(void*)) {
  pinned_allocate = allocate_pinned;
  pinned_release = release_pinned;
}
