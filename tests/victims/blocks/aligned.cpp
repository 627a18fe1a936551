// Purpose: aligned allocation functions with odd sizes, small and huge alignments, and their failures.
// A victim: its output must be the same with and without the tracer.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <malloc.h>

namespace {

bool aligned(const void* block, std::size_t to) {
  return reinterpret_cast<std::uintptr_t>(block) % to == 0;
}

} // namespace

int main() {
  int good = 0;
  int tried = 0;
  const std::size_t sizes[] = {1, 3, 17, 100, 4095, 4097, 65537, 300001};
  for (std::size_t alignment = sizeof(void*); alignment <= 2u << 20; alignment *= 4) {
    for (const std::size_t size : sizes) {
      void* block = nullptr;
      ++tried;
      if (posix_memalign(&block, alignment, size) == 0 && aligned(block, alignment)) ++good;
      std::memset(block, 1, malloc_usable_size(block));
      void* other = memalign(alignment, size);
      ++tried;
      if (aligned(other, alignment)) ++good;
      block = std::realloc(block, size * 3);
      std::free(other);
      std::free(block);
      block = std::aligned_alloc(alignment, size);
      ++tried;
      if (aligned(block, alignment)) ++good;
      std::free(block);
      block = operator new (size, std::align_val_t{alignment});
      ++tried;
      if (aligned(block, alignment)) ++good;
      operator delete (block, std::align_val_t{alignment});
    }
  }
  void* page = valloc(5000);
  void* pages = pvalloc(5000);
  std::printf("%d of %d, valloc %d, pvalloc %d\n", good, tried, aligned(page, 4096), aligned(pages, 4096));
  std::free(page);
  std::free(pages);
  auto* untouched = reinterpret_cast<void*>(&good);
  errno = 5;
  std::printf("bad alignment %d", posix_memalign(&untouched, 24, 100));
  std::printf(" errno %d kept %d\n", errno, untouched == &good);
  std::printf("too large %d\n", posix_memalign(&untouched, 64, SIZE_MAX / 2));
}
