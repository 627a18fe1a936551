// Purpose: weak references to missing functions: memtrace must not make a machine look as if it had CUDA.
// A victim: its output must be the same with and without the tracer.
#include <stddef.h>
#include <stdio.h>

extern int cudaMalloc(void**, unsigned long) __attribute__((weak));
extern int cudaFree(void*) __attribute__((weak));
extern int cudaHostAlloc(void**, unsigned long, unsigned) __attribute__((weak));
extern int cuInit(unsigned) __attribute__((weak));
extern void PySys_AddAuditHook(void) __attribute__((weak));
extern void free_sized(void*, unsigned long) __attribute__((weak));
extern void free_aligned_sized(void*, unsigned long, unsigned long) __attribute__((weak));

int main(void) {
  printf("%d %d %d %d %d\n", cudaMalloc != NULL, cudaFree != NULL, cudaHostAlloc != NULL, cuInit != NULL,
         PySys_AddAuditHook != NULL);
  printf("%d %d\n", free_sized != NULL, free_aligned_sized != NULL);
  return 0;
}
