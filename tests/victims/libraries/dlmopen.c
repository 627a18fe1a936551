// Purpose: loads a library and its libc, with another malloc, into a namespace of their own by dlmopen.
// A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  void* handle = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
  if (handle == NULL) return 1;
  void* (*other_malloc)(size_t) = (void* (*)(size_t))dlsym(handle, "malloc");
  void (*other_free)(void*) = (void (*)(void*))dlsym(handle, "free");
  printf("another malloc: %d\n", (void*)other_malloc != (void*)&malloc);
  for (int i = 0; i < 1000; ++i) {
    char *theirs = other_malloc(9000), *ours = malloc(9000);
    memset(theirs, 1, 9000);
    memset(ours, 2, 9000);
    other_free(theirs);
    free(ours);
  }
  printf("closed: %d\n", dlclose(handle));
  return 0;
}
