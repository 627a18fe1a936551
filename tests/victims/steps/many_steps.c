// Purpose: runs a given number of steps in three threads; the sizes follow from the step's number.
// A victim: its output must be the same with and without the tracer.
//
// Sizes are multiples of 16 below malloc's mmap threshold, so a block of n bytes has n + 8 usable ones.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "preload/api/memtrace.h"

enum { kHelpers = 2, kEvery = 16, kKeepEvery = 1000 };

static size_t forward_size(long n) {
  return 8192 + 4096 * (size_t)(n * 7919 % 13) + 16 * (size_t)(n * 31 % 101);
}
static size_t backward_size(long n) {
  return 4096 * (1 + (size_t)(n * 104729 % 7)) + 16 * (size_t)(n * 17 % 89);
}

static pthread_barrier_t barrier;
static long steps;

static void helpers_work(void** block) {
  pthread_barrier_wait(&barrier);
  if (block) *block = malloc(4096);
  pthread_barrier_wait(&barrier);
  if (block) free(*block);
  pthread_barrier_wait(&barrier);
}

static void* help(void* unused) {
  void* block;
  for (long n = 0; n < steps; n += kEvery) helpers_work(&block);
  return unused;
}

int main(int argc, char** argv) {
  steps = argc > 1 ? atol(argv[1]) : 100;
  const int helpers = argc > 2 ? atoi(argv[2]) : kHelpers;
  pthread_t threads[kHelpers];
  pthread_barrier_init(&barrier, NULL, (unsigned)helpers + 1);
  for (int i = 0; i < helpers; ++i) pthread_create(&threads[i], NULL, help, NULL);
  void** kept = calloc((size_t)(steps / kKeepEvery + 1), sizeof *kept);
  for (long n = 0; n < steps; ++n) {
    memtrace_step((uint64_t)n);
    memtrace_phase_begin("keep");
    if (n % kKeepEvery == 0) kept[n / kKeepEvery] = malloc(4096);
    memtrace_phase_end();
    memtrace_phase_begin("forward");
    void* activation = malloc(forward_size(n));
    if (n % kEvery == 0) helpers_work(NULL);
    memtrace_phase_end();
    memtrace_phase_begin("backward");
    free(malloc(backward_size(n)));
    free(activation);
    memtrace_phase_end();
  }
  for (int i = 0; i < helpers; ++i) pthread_join(threads[i], NULL);
  printf("%ld steps\n", steps);
  return 0;
}
