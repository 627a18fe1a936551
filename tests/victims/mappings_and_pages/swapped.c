// Purpose: uses more memory than its cgroup allows, in turns, so that the kernel swaps earlier turns out.
// A victim: its output must be the same with and without the tracer.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBlocks = 48, kBytes = 1 << 20 };

int main(void) {
  char* blocks[kBlocks];
  long sum = 0;
  for (int i = 0; i < kBlocks; ++i) memset(blocks[i] = malloc(kBytes), i + 1, kBytes);
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < kBlocks; ++i)
      for (int at = 0; at < kBytes; at += 4096) sum += blocks[i][at]++;
  for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
  printf("sum: %ld\n", sum);
  return 0;
}
