// Purpose: a command that is linked statically opens no library.
// A library brings its own libc, and the two would share one process. libdw opens libdebuginfod at the start of
// each command; symbols/debuginfod.cpp runs the program debuginfod-find instead.
#include <dlfcn.h>

extern "C" void* dlopen(const char*, int) noexcept {
  return nullptr;
}
