// Room: tests. Stands for libcudart.so.13 where there is no CUDA.
// Job: the calls that memtrace hooks, with their real names and versions, on ordinary memory, each counted.
#define _GNU_SOURCE
#include "fakes/cudart.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct CudartCalls calls;

static int give(void** out, size_t bytes, int (*count)(void)) {
  if (out == NULL) return kCudaInvalidValue;
  if (bytes > (size_t)1 << 40) return kCudaOutOfMemory; // a card is not that large: how failures are tried
  // A raw call: what the real driver gives comes from its own device file, not from malloc or mmap.
  const int protection = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  const long address = syscall(SYS_mmap, NULL, bytes + 4096, protection, flags, -1, 0);
  if (address == -1) return kCudaOutOfMemory;
  size_t* block = (size_t*)address;
  block[0] = bytes + 4096;
  *out = (char*)block + 4096;
  return count();
}
static int take(void* pointer, int (*count)(void)) {
  if (pointer == NULL) return kCudaSuccess;
  size_t* block = (size_t*)((char*)pointer - 4096);
  syscall(SYS_munmap, block, block[0]);
  return count();
}
#define COUNTS(field)                   \
  static int count_##field(void) {      \
    return ++calls.field, kCudaSuccess; \
  }
COUNTS(malloc)
COUNTS(free)
COUNTS(host_alloc)
COUNTS(malloc_host)
COUNTS(free_host)

int cudaMalloc(void** out, size_t bytes) {
  return give(out, bytes, count_malloc);
}
int cudaFree(void* pointer) {
  return take(pointer, count_free);
}
int cudaHostAlloc(void** out, size_t bytes, unsigned flags) {
  (void)flags;
  return give(out, bytes, count_host_alloc);
}
int cudaMallocHost(void** out, size_t bytes) {
  return give(out, bytes, count_malloc_host);
}
int cudaFreeHost(void* pointer) {
  return take(pointer, count_free_host);
}
int cudaGetDevice(int* device) {
  return *device = 0, kCudaSuccess;
}
int cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  *total = (size_t)80 << 30;
  *free_bytes = (size_t)79 << 30;
  return kCudaSuccess;
}
void fake_cudart_calls(struct CudartCalls* out) {
  *out = calls;
}
