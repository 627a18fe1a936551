// Purpose: maps huge pages of the pool (MAP_HUGETLB, memfd), and transparent ones that the program requests.
// A victim: its output must be the same with and without the tracer.
//
// usage: huge_pages pool|advised     pool: prints "refused" and ends with 77 if the pool is empty
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static int pool(void) {
  const int rw = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB;
  char* map = mmap(NULL, 4 * MIB, rw, flags, -1, 0);
  if (map == MAP_FAILED) {
    puts("refused");
    return 77;
  }
  memset(map, 1, 4 * MIB);
  printf("part of a huge page: %d\n", munmap(map + 4096, 4096) == -1 && errno == EINVAL);
  printf("one of two: %d\n", munmap(map + 2 * MIB, 2 * MIB) == 0);
  printf("odd length: %d\n", munmap(map, MIB) == 0 || munmap(map, 2 * MIB) == 0);
  const int file = memfd_create("victim", MFD_CLOEXEC | MFD_HUGETLB);
  printf("sized: %d\n", ftruncate(file, 2 * MIB));
  map = mmap(NULL, 2 * MIB, rw, MAP_SHARED, file, 0);
  close(file);
  map[5] = 2;
  usleep(600000); /* the recorder takes a sample */
  printf("shared: %d\n", map[5]);
  printf("more than there is: %d\n",
         mmap(NULL, (size_t)1 << 44, rw, flags, -1, 0) == MAP_FAILED && errno == ENOMEM);
  return munmap(map, 2 * MIB);
}

static int advised(void) {
  char* map = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  printf("advised: %d\n", madvise(map, 64 * MIB, MADV_HUGEPAGE) == 0 || errno == EINVAL);
  for (size_t at = 0; at < 64 * MIB; at += 2 * MIB) map[at] = 1;
  printf("a hole in a huge page: %d\n", madvise(map + 4096, 8192, MADV_DONTNEED) == 0 && map[4096] == 0);
  printf("protected: %d\n", mprotect(map + 2 * MIB + 4096, 4096, PROT_READ) == 0);
  printf("a page of it gone: %d\n", munmap(map + 4 * MIB + 4096, 4096) == 0);
  char* block = aligned_alloc(2 * MIB, 8 * MIB);
  printf("advised in malloc's: %d\n", madvise(block, 8 * MIB, MADV_HUGEPAGE) == 0 || errno == EINVAL);
  memset(block, 3, 8 * MIB);
  usleep(600000);
  free(block);
  return 0;
}

int main(int count, char** arguments) {
  return count > 1 && strcmp(arguments[1], "pool") == 0 ? pool() : advised();
}
