// Purpose: calls an exec that fails, then goes on and allocates.
// A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void) {
  char* nowhere[] = {"nowhere", NULL};
  void* block = malloc(1 << 20);
  int result = execv("/nonexistent/program", nowhere);
  printf("execv: %d %s\n", result, strerror(errno));
  result = execvp("memtrace-no-such-program", nowhere);
  printf("execvp: %d %s\n", result, strerror(errno));
  result = execve("/", nowhere, environ);
  printf("execve of a directory: %d %s\n", result, strerror(errno));
  block = realloc(block, 2 << 20);
  printf("goes on: %d\n", block != NULL);
  free(block);
  return 3;
}
