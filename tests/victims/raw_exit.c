// Purpose: ends the last thread by the raw system call: any other thread would keep the process alive for ever.
// A victim: its output must be the same with and without the tracer.
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
