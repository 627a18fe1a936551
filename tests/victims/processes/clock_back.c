// Purpose: starts a child whose monotonic clock is set back by 1,000 seconds, in its own time namespace.
// Prints "refused" and ends with 77 if a time namespace cannot be made.
// A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static long now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec;
}

static int write_to(const char* path, const char* text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return -1;
  const long written = write(file, text, strlen(text));
  close(file);
  return written == (long)strlen(text) ? 0 : -1;
}

static void allocate(void) {
  for (int i = 0; i < 2000; ++i) {
    char* block = malloc(8192);
    memset(block, 1, 8192);
    free(block);
  }
}

int main(void) {
  char offset[64];
  const long before = now();
  allocate();
  snprintf(offset, sizeof offset, "monotonic %ld 0\n", before > 1100 ? -1000L : -(before - 60));
  if ((unshare(CLONE_NEWTIME) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWTIME) != 0) ||
      write_to("/proc/self/timens_offsets", offset) != 0) {
    puts("refused");
    return 77;
  }
  const pid_t child = fork();
  if (child == 0) {
    const int earlier = now() < before;
    allocate();
    usleep(300000); /* a second trace, or the same one, goes on for some passes of the recorder */
    allocate();
    printf("the clock of the child is behind: %d\n", earlier);
    return 0;
  }
  int status = 0;
  waitpid(child, &status, 0);
  allocate();
  printf("status of the child: %d, our clock goes on: %d\n", status, now() >= before);
  return 0;
}
