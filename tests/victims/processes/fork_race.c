// Purpose: many threads fork at once, then allocate from new call sites. A lock that a fork leaves held shows
// in the time: each new site then takes 0.1 s or more.
// A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void* fork_often(void* unused) {
  for (int i = 0; i < 60; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    if (child > 0) waitpid(child, NULL, 0);
  }
  return unused;
}

// Goes left or right at each level: 256 different stacks.
static __attribute__((noinline)) void* place(int depth, int path) {
  volatile char pad = 1;
  void* block;
  if (depth == 0) return malloc(8192);
  if (path & 1) {
    block = place(depth - 1, path >> 1);
    pad = 2;
  } else {
    block = place(depth - 1, path >> 1);
    pad = 3;
  }
  (void)pad;
  return block;
}

int main(void) {
  pthread_t threads[8];
  for (int i = 0; i < 8; ++i) pthread_create(&threads[i], NULL, fork_often, NULL);
  for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
  const time_t start = time(NULL);
  for (int path = 0; path < 256; ++path) free(place(8, path));
  puts(time(NULL) - start > 20 ? "stuck" : "went on");
  return 0;
}
