// Purpose: looks up what comes after this library. Only its own scope has it: libm, which only this library is
// linked with. The victim lookups opens it RTLD_LOCAL.
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
