// Purpose: edge cases of malloc: zero, too much, overflow, realloc to zero, errno after each.
// A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Walloc-size-larger-than="
#pragma GCC diagnostic ignored "-Wuse-after-free"

int main(void) {
  volatile size_t huge = SIZE_MAX - 100;
  errno = 0;
  void* block = malloc(huge);
  printf("malloc huge: %d errno %d\n", block != NULL, errno);
  errno = 0;
  block = calloc(huge, 16);
  printf("calloc overflow: %d errno %d\n", block != NULL, errno);
  char* kept = malloc(100000);
  strcpy(kept, "still here");
  errno = 0;
  block = realloc(kept, huge);
  printf("realloc huge: %d errno %d, %s\n", block != NULL, errno, kept);
  errno = 0;
  block = reallocarray(kept, huge, 16);
  printf("reallocarray overflow: %d errno %d, %s\n", block != NULL, errno, kept);
  errno = 0;
  block = realloc(kept, 0);
  printf("realloc to nothing: %d errno %d\n", block != NULL, errno);
  errno = 12345;
  block = malloc(0);
  printf("malloc nothing: %d errno %d usable %d\n", block != NULL, errno, malloc_usable_size(block) > 0);
  free(block);
  free(NULL);
  printf("free errno %d\n", errno);
  block = realloc(NULL, 50000);
  memset(block, 1, 50000);
  block = realloc(block, 200000);
  printf("realloc keeps %d errno %d\n", ((char*)block)[49999], errno);
  int same = realloc(block, 190000) == block;
  (void)same;
  errno = 7;
  for (int i = 0; i < 20000; ++i) free(calloc(1, (size_t)i * 7));
  printf("errno after many: %d\n", errno);
  char* zeroed = calloc(1000, 1000);
  int dirty = 0;
  for (int i = 0; i < 1000000; ++i) dirty |= zeroed[i];
  printf("calloc dirty: %d\n", dirty);
  free(zeroed);
  return 0;
}
