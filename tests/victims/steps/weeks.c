// Purpose: runs very many steps of three blocks each. Each step leaves 64 bytes, and five steps take more.
// A victim: its output must be the same with and without the tracer.
// usage: weeks STEPS [DRIFT [SPIKE_MIB]]; a drift of 0 leaves nothing, spikes of 0 MiB are none
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/api/memtrace.h"

enum { kDrift = 64, kSpikes = 5, kSpikeMib = 48, kKept = 1 << 16 };

// The steps of the spikes, in thousandths of the run.
static const long spike_at[kSpikes] = {113, 287, 502, 731, 946};

static size_t activation_bytes(long n) {
  return 8192 + 16 * (size_t)(n * 7919 % 101);
}

static void* leave(size_t bytes) {
  return malloc(bytes);
}

static void* spike(size_t bytes) {
  void* const block = malloc(bytes);
  memset(block, 1, bytes);
  return block;
}

int main(int argc, char** argv) {
  const long steps = argc > 1 ? atol(argv[1]) : 1000;
  const size_t drift = argc > 2 ? (size_t)atol(argv[2]) : kDrift;
  const size_t spike_bytes = (argc > 3 ? (size_t)atol(argv[3]) : kSpikeMib) << 20;
  int next = 0;
  static void* kept[kKept];
  for (long n = 0; n < steps; ++n) {
    memtrace_step((uint64_t)n);
    memtrace_phase_begin("forward");
    void* activation = malloc(activation_bytes(n));
    if (drift) kept[n % kKept] = leave(drift);
    void* more = NULL;
    if (spike_bytes && next < kSpikes && n == steps / 1000 * spike_at[next]) {
      ++next;
      more = spike(spike_bytes * (size_t)next);
    }
    memtrace_phase_end();
    memtrace_phase_begin("backward");
    void* gradient = malloc(activation_bytes(n) / 2);
    void* temporary = malloc(4096);
    free(temporary);
    free(more);
    free(activation);
    free(gradient);
    memtrace_phase_end();
  }
  printf("%ld steps, %p\n", steps, kept[0] == NULL ? NULL : (void*)1);
  return 0;
}
