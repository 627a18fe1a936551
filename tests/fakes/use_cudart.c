// Room: tests. A victim: linked against what needs the CUDA runtime, or opening it RTLD_LOCAL as Python does.
// Job: run the module; print what its calls gave and what reached the library.
#include <dlfcn.h>
#include <stdio.h>

#ifndef OPENED
void fake_cuda_run(void);
#endif

int main(void) {
#ifdef OPENED
  void* module = dlopen("libfake_cuda_module.so", RTLD_NOW | RTLD_LOCAL);
  if (module == NULL) {
    puts(dlerror());
    return 1;
  }
  void (*run)(void) = (void (*)(void))dlsym(module, "fake_cuda_run");
  // By the handle: a program that looks the runtime up itself finds the library's own, memtrace or not.
  printf("by handle: %d\n", dlsym(module, "cudaMalloc") != NULL);
  run();
#else
  fake_cuda_run();
#endif
  return 0;
}
