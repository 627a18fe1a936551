// Purpose: a library that reserves 384 MiB when it is loaded and never touches them, as OpenBLAS does.
#include <sys/mman.h>

__attribute__((constructor)) static void reserve(void) {
  mmap(0, (size_t)384 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
