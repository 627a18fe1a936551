// Purpose: makes allocations fail for lack of memory and for other reasons, and prints each result.
// A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

static void say(const char* what, const void* p, int result) {
  printf("%s %s %d errno %d\n", what, p == NULL || p == MAP_FAILED ? "none" : "some", result, errno);
  errno = 0;
}

// Volatile, so that the compiler does not warn of the intended errors.
static void* volatile held;
static volatile size_t most = SIZE_MAX / 2;

int main(void) {
  const struct rlimit limit = {(rlim_t)1 << 30, (rlim_t)1 << 30};
  setrlimit(RLIMIT_AS, &limit);
  held = malloc(100000);
  memset(held, 7, 100000);
  errno = 0;
  say("malloc", malloc((size_t)3 << 30), 0);
  say("calloc", calloc((size_t)1 << 20, 5000), 0);
  say("calloc overflow", calloc(most, 5), 0);
  say("realloc", realloc(held, (size_t)6 << 30), 0);
  say("reallocarray", reallocarray(held, most, 5), 0);
  void* out = NULL;
  const int result = posix_memalign(&out, 64, (size_t)7 << 30);
  say("posix_memalign", out, result);
  say("aligned_alloc", aligned_alloc(64, (size_t)8 << 30), 0);
  say("mmap", mmap(NULL, (size_t)9 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 0);
  say("reservation", mmap(NULL, (size_t)10 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 0);
  char* const mapping = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  say("mremap", mremap(mapping, 1 << 20, (size_t)11 << 30, MREMAP_MAYMOVE), 0);
  // These are errors of the caller, not a lack of memory.
  say("bad descriptor", mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 999, 0), 0);
  say("bad alignment", NULL, posix_memalign(&out, 3, 4096));
  say("nothing", realloc(malloc(0), 0), 0);
  for (int i = 0; i < 100000; ++i)
    if (((char*)held)[i] != 7) return 1;
  free(held);
  return 0;
}
