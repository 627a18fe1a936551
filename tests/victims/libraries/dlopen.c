// Purpose: opens a library again and again that only this program's $ORIGIN RUNPATH finds.
// A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  for (int i = 0; i < 20; ++i) {
    void* plugin = dlopen("libvictim_plugin.so", RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) {
      puts("dlopen lost the caller's RUNPATH");
      return 1;
    }
    void* (*make)(size_t) = (void* (*)(size_t))dlsym(plugin, "plugin_make");
    void* block = make(20000);
    dlclose(plugin);
    free(block); // allocated by code that is unloaded
  }
  printf("missing: %d\n", dlopen("libmemtrace_no_such_library.so", RTLD_NOW) != NULL);
  printf("cudaMalloc: %d\n", dlsym(RTLD_DEFAULT, "cudaMalloc") != NULL);
  return 0;
}
