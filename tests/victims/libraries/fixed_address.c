// Purpose: an executable at a fixed address that takes malloc's address, as Debian 11's python3 does. dlsym
// then finds malloc in the executable. A victim: its output must be the same with and without the tracer.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* (*volatile allocate)(size_t);
static void (*volatile release)(void*);

int main(void) {
  allocate = malloc; // in code, not in data: then the linker gives the executable a stub of that address
  release = free;
  const size_t bytes = 48u << 20;
  char* block = allocate(bytes);
  memset(block, 1, bytes);
  printf("%d\n", block[bytes - 1]);
  release(block);
  return 0;
}
