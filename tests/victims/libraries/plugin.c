// Purpose: the library that the victim dlopen loads.
// A victim: its output must be the same with and without the tracer.
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) void* plugin_make(size_t bytes);
void* plugin_make(size_t bytes) {
  return memset(malloc(bytes), 1, bytes);
}
