// Purpose: calls sbrk beside malloc, forwards and back.
// A victim: its output must be the same with and without the tracer.
#define _DEFAULT_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void) {
  char* const start = sbrk(0);
  char* const mine = sbrk(1 << 20);
  memset(mine, 1, 1 << 20);
  printf("where it ended: %d\n", mine == start);
  for (int i = 0; i < 100; ++i) free(malloc(50000));
  char* kept = malloc(100000);
  memset(kept, 2, 100000);
  printf("mine is untouched: %d\n", mine[0] == 1 && mine[(1 << 20) - 1] == 1);
  printf("too much: %d\n", sbrk((intptr_t)1 << 46) == (void*)-1 && errno == ENOMEM);
  free(kept);
  return 0;
}
