// Purpose: what comes after this library, which only its own scope says: libm, that it alone is linked with.
// Opened RTLD_LOCAL by the victim lookups.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

const char* ask_next(void);
const char* ask_next(void) {
  Dl_info where;
  void* found = dlsym(RTLD_NEXT, "cos");
  if (found == NULL || dladdr(found, &where) == 0) return "nothing comes next";
  return strstr(where.dli_fname, "libm.so") != NULL ? "libm comes next" : where.dli_fname;
}
