/* Purpose: a library of a program: it allocates and fills memory. */
#include <stdlib.h>
#include <string.h>

static char* make(size_t bytes) {
  char* const out = malloc(bytes);
  return out != NULL ? memset(out, 1, bytes) : NULL;
}

char* fill_private_buffer(size_t bytes) {
  char* volatile out = make(bytes);
  return out;
}
