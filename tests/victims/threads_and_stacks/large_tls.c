// Purpose: has 64 MiB of TLS, and records events over some passes of the recorder's background thread.
// The recorder's own TLS lies below it. A background thread with less memory than that below its thread
// pointer touches an address that is not mapped, or memory of the program.
// A victim: its output must be the same with and without the tracer.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kBytes = 64 << 20, kBlock = 2 << 20 };
static _Thread_local char words[kBytes];

int main(void) {
  words[0] = words[kBytes - 1] = 1;
  long sum = 0;
  for (int pass = 0; pass < 8; ++pass) {
    char* const block = malloc(kBlock);
    memset(block, pass, kBlock);
    usleep(100000);
    sum += block[kBlock - 1];
    free(block);
  }
  printf("sum %ld, first and last word %d %d\n", sum, words[0], words[kBytes - 1]);
  return 0;
}
