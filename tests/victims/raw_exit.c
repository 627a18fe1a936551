// Purpose: the last thread ends by the raw system call: whatever other thread there is would keep the process
// for ever. A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
  char* block = malloc(8ul << 20);
  block[0] = 1;
  puts("leaving");
  fflush(stdout);
  syscall(SYS_exit, 3);
  return 0;
}
