// Purpose: marks phases and steps of known sizes through memtrace.h, in two threads; also runs untraced.
// A victim: its output must be the same with and without the tracer.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/api/memtrace.h"

enum { kMiB = 1 << 20 };

static void* apart(void* unused) {
  memtrace_phase_begin("apart");
  char* block = memset(malloc(3 * kMiB), 1, 3 * kMiB);
  free(block);
  memtrace_phase_end();
  return unused;
}

int main(void) {
  char* kept[3];
  for (int step = 0; step < 3; ++step) {
    memtrace_step((uint64_t)step);
    memtrace_phase_begin("outer");
    kept[step] = memset(malloc(8 * kMiB), 1, 8 * kMiB);
    memtrace_label(kept[step], 8 * kMiB, "parameter", "kept");
    memtrace_phase_begin("inner");
    free(memset(malloc(5 * kMiB), 1, 5 * kMiB));
    memtrace_phase_end();
    memtrace_phase_end();
  }
  pthread_t thread;
  pthread_create(&thread, NULL, apart, NULL);
  pthread_join(thread, NULL);
  memtrace_phase_end(); // one too many
  printf("kept %d\n", kept[0][0] + kept[1][1] + kept[2][2]);
  return 0;
}
