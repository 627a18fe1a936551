// Purpose: prints the answers of dlsym and dlvsym to each kind of query, to a program and to a library, and the
// state of dlerror afterwards.
// A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static void say(const char* what, const void* found) {
  const char* error = dlerror();
  // The message names the searched file, which is not always the caller's.
  const char* reason = error != NULL ? strstr(error, "undefined symbol") : NULL;
  printf("%s: %d %s, then %d\n", what, found != NULL,
         reason != NULL  ? reason
         : error != NULL ? error
                         : "-",
         dlerror() != NULL);
}

int main(void) {
  errno = 77;
  say("default", dlsym(RTLD_DEFAULT, "malloc"));
  say("next", dlsym(RTLD_NEXT, "malloc"));
  void* self = dlopen(NULL, RTLD_NOW);
  void* math = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
  say("handle", dlsym(math, "cos"));
  say("default, opened local", dlsym(RTLD_DEFAULT, "cos"));
  say("version", dlvsym(RTLD_DEFAULT, "free", "GLIBC_2.2.5"));
  say("no such version", dlvsym(RTLD_DEFAULT, "free", "GLIBC_9.9"));
  static const char* const names[] = {"cudaMalloc",
                                      "cuMemAlloc_v2",
                                      "cuGetProcAddress_v2",
                                      "cudaHostAlloc",
                                      "cuMemCreate",
                                      "cuWhatever",
                                      "cu",
                                      "c",
                                      ""};
  for (unsigned i = 0; i < sizeof names / sizeof *names; ++i) {
    printf("%s\n", names[i]);
    say("  default", dlsym(RTLD_DEFAULT, names[i]));
    say("  next", dlsym(RTLD_NEXT, names[i]));
    say("  self", dlsym(self, names[i]));
    say("  handle", dlsym(math, names[i]));
    say("  version", dlvsym(RTLD_DEFAULT, names[i], "libcudart.so.13"));
  }
  // A pending error stays until dlerror() returns it.
  dlopen("libnosuchthing.so", RTLD_NOW);
  printf("pending %d\n", dlerror() != NULL);
  void* plugin = dlopen("libvictim_asks.so", RTLD_NOW | RTLD_LOCAL);
  const char* (*ask)(void) = plugin != NULL ? (const char* (*)(void))dlsym(plugin, "ask_next") : NULL;
  printf("library: %s\n", ask != NULL ? ask() : dlerror());
  printf("errno %d\n", errno);
  return 0;
}
