// Room: tests. Shared by the fake CUDA runtime and the programs that use it.
// Job: its calls as the real headers declare them, and the count of those that reached it.
#pragma once

#include <stddef.h>

enum { kCudaSuccess = 0, kCudaInvalidValue = 1, kCudaOutOfMemory = 2 };

struct CudartCalls {
  int malloc, free, host_alloc, malloc_host, free_host;
};

int cudaMalloc(void** out, size_t bytes);
int cudaFree(void* pointer);
int cudaHostAlloc(void** out, size_t bytes, unsigned flags);
int cudaMallocHost(void** out, size_t bytes);
int cudaFreeHost(void* pointer);
int cudaGetDevice(int* device);
int cudaMemGetInfo(size_t* free_bytes, size_t* total);
void fake_cudart_calls(struct CudartCalls* out);
