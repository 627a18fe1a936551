// Purpose: ends the last thread by the raw system call: any other thread would keep the process alive for ever.
// A victim: its output must be the same with and without the tracer.
//
// usage: raw_exit [inline|clone]     inline: no function of libc makes the call, so no hook sees it
//                                    clone: the child of a plain clone() returns, where libc makes the call
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int hold(void* nothing) {
  (void)nothing;
  char* block = malloc(80ul << 20);
  memset(block, 1, 80ul << 20);
  usleep(600 * 1000); // the background thread runs
  return block[0] + 2;
}

static void leave(int status) {
#if defined(__x86_64__)
  __asm__ volatile("syscall" : : "a"((long)SYS_exit), "D"((long)status) : "rcx", "r11", "memory");
#endif
  syscall(SYS_exit, status);
}

int main(int count, char** arguments) {
  const char* way = count > 1 ? arguments[1] : "";
  puts("leaving");
  fflush(stdout);
  if (strcmp(way, "clone") == 0) {
    char* stack = malloc(256 * 1024);
    const int child = clone(hold, stack + 256 * 1024, SIGCHLD, NULL);
    int status = 0;
    if (waitpid(child, &status, 0) != child) return 1;
    printf("%d\n", WEXITSTATUS(status));
    fflush(stdout);
    return 0;
  }
  const int status = hold(NULL);
  if (strcmp(way, "inline") == 0) leave(status);
  syscall(SYS_exit, status);
  return 0;
}
