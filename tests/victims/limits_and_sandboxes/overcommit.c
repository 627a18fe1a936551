// Purpose: requests far more memory than a kernel with strict overcommit grants, and goes on with less.
// A victim: its output must be the same with and without the tracer.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int main(void) {
  const int rw = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  printf("not reserved: %d\n", mmap(NULL, (size_t)1 << 45, rw, flags, -1, 0) != MAP_FAILED);
  printf("no access: %d\n", mmap(NULL, (size_t)1 << 44, PROT_NONE, flags, -1, 0) != MAP_FAILED);
  printf("malloc: %d\n", malloc((size_t)1 << 44) == NULL && errno == ENOMEM);
  char* blocks[64];
  for (int i = 0; i < 64; ++i) memset(blocks[i] = malloc(300000), i, 300000);
  for (int i = 0; i < 64; ++i) free(blocks[i]);
  return 0;
}
