// Room: tests. Stands for a Python module that is linked against the CUDA runtime.
// Job: the sequence of use_cudart, called through this module's own PLT.
#include <stdio.h>

#include "fakes/cudart.h"

void fake_cuda_run(void);
void fake_cuda_run(void) {
  void *weights, *activations, *pinned, *staging, *none = &none;
  printf("%d", cudaMalloc(&weights, 40u << 20));
  printf("%d", cudaMalloc(&activations, 24u << 20));
  printf("%d", cudaHostAlloc(&pinned, 16u << 20, 0));
  printf("%d", cudaMallocHost(&staging, 8u << 20));
  printf("%d", cudaMalloc(&none, (size_t)1 << 41));
  printf("%d", cudaMalloc(NULL, 1));
  printf("%d", cudaFree(activations));
  printf("%d", cudaFree(NULL));
  printf("%d", cudaFreeHost(staging));
  struct CudartCalls calls;
  fake_cudart_calls(&calls);
  printf(" malloc %d free %d host %d %d free %d untouched %d\n", calls.malloc, calls.free, calls.host_alloc,
         calls.malloc_host, calls.free_host, none == (void*)&none);
}
