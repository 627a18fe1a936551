// Purpose: a raw clone that shares memory and descriptors, and a raw fork by syscall, which run no fork
// handler.
// A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int seen;

static int shares(void* unused) {
  (void)unused;
  free(malloc(20000));
  seen = 1;
  return 9;
}

int main(void) {
  char* stack = malloc(1 << 18);
  int status;
  pid_t pid = clone(shares, stack + (1 << 18), CLONE_VM | CLONE_FILES | CLONE_VFORK | SIGCHLD, NULL);
  waitpid(pid, &status, 0);
  printf("shared memory: %d, status %d\n", seen, WEXITSTATUS(status));
  free(stack);

  pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
  if (pid == 0) {
    for (int i = 0; i < 3000; ++i) free(memset(malloc(10000), 1, 10000));
    syscall(SYS_exit_group, 8);
  }
  waitpid(pid, &status, 0);
  printf("raw fork: %d\n", WEXITSTATUS(status));
  for (int i = 0; i < 3000; ++i) free(memset(malloc(10000), 1, 10000));
  return 0;
}
