// Purpose: makes errors that valgrind's tools count: a race, a read beyond a block, a jump on an uninitialized
// value, leaks.
// Run under valgrind, gdb and strace, bare and traced.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static int raced;
static volatile int sink;

static void* work(void* unused) {
  for (int i = 0; i < 50; ++i) {
    char* p = malloc(100000 + i);
    p[0] = 1;
    free(realloc(p, 300000));
    free(malloc(100));
    char* map = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    map[5] = 1;
    mprotect(map, 4096, PROT_READ);
    madvise(map + 8192, 4096, MADV_DONTNEED);
    munmap(map, 1 << 20);
  }
  ++raced;
  return unused;
}

int main(void) {
  pthread_t threads[4];
  char* map = mmap(NULL, 32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  int* p = malloc(40);
  sink = p[10];
  if (p[3] == 7) puts("seven");
  p = malloc(7000);
  p = NULL;
  munmap(map, 32 << 20);
  puts("done");
  return 5;
}
