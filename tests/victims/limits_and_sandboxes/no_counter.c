// Purpose: forbids itself to read the CPU's time stamp counter, as a replay tool does, and goes on to allocate.
// A victim: its output must be the same with and without the tracer.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

enum { kBlocks = 400, kBytes = 200000 };

static void work(void) {
  static void* blocks[kBlocks];
  for (int i = 0; i < kBlocks; ++i) {
    blocks[i] = malloc(kBytes);
    memset(blocks[i], 1, kBytes);
  }
  for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
}

int main(void) {
  work();
  if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0) return 77;
  work();
  puts("worked");
  return 0;
}
