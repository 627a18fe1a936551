// Purpose: cudaMalloc and cudaFree in a loop, for scripts/benchmark/device.py. Prints the CPU us of a pair.
//
// usage: device_pair COUNT BYTES
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int cudaMalloc(void** address, size_t bytes); // of the runtime's library, so that no header is needed
int cudaFree(void* address);

static double cpu_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static void pairs(long count, size_t bytes) {
  for (long i = 0; i < count; ++i) {
    void* block = NULL;
    if (cudaMalloc(&block, bytes) != 0 || cudaFree(block) != 0) {
      fprintf(stderr, "device_pair: cudaMalloc or cudaFree failed\n");
      exit(1);
    }
  }
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s COUNT BYTES\n", argv[0]);
    return 2;
  }
  const long count = atol(argv[1]);
  const size_t bytes = strtoull(argv[2], NULL, 10);
  pairs(1, bytes); // the context, and the first call of each hook
  const double began = cpu_us();
  pairs(count, bytes);
  printf("%.4f\n", (cpu_us() - began) / (double)(count > 0 ? count : 1));
  return 0;
}
