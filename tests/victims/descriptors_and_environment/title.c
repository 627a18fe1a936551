// Purpose: writes a title over its environment before its first allocation, as servers do for the list of
// processes.
// A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kBytes = 64 << 20 };

int main(void) {
  for (char** entry = environ; *entry != NULL; ++entry) memset(*entry, '-', strlen(*entry));
  char* const block = malloc(kBytes);
  memset(block, 1, kBytes);
  printf("last byte %d, the environment starts with %.1s\n", block[kBytes - 1], environ[0]);
  free(block);
  return 0;
}
