// Purpose: prints the environment and runs env -i: the tracer may add only its own variables.
// A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void) {
  for (char** entry = environ; *entry != NULL; ++entry)
    if (strncmp(*entry, "LD_PRELOAD=", 11) != 0 && strncmp(*entry, "MEMTRACE", 8) != 0) puts(*entry);
  clearenv();
  setenv("ONLY", "this", 1);
  free(malloc(1 << 20));
  fflush(stdout);
  execlp("env", "env", (char*)NULL);
  return 1;
}
