// Purpose: `new` and `delete` of the command, which count the bytes in use.
#include <malloc.h>

#include <cstdlib>
#include <new>

#include "analyzer/files/read_budget.h"

// Counts the usable size of the block, because `delete` is not always given the size. A second thread has a
// count of its own.
void* operator new(std::size_t bytes) {
  void* const block = std::malloc(bytes == 0 ? 1 : bytes);
  if (block == nullptr) throw std::bad_alloc();
  const std::size_t size = ::malloc_usable_size(block);
  try {
    memtrace::files::Budget::of_command().took(size);
  } catch (...) {
    memtrace::files::Budget::of_command().gave(size);
    std::free(block);
    throw;
  }
  return block;
}

// std::stable_sort calls this form. Without it, the address sanitizer's form would take the block, and `delete`
// below would give it back.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (...) {
    return nullptr;
  }
}

void operator delete(void* block) noexcept {
  if (block == nullptr) return;
  memtrace::files::Budget::of_command().gave(::malloc_usable_size(block));
  std::free(block);
}

void operator delete(void* block, std::size_t) noexcept {
  operator delete(block);
}
