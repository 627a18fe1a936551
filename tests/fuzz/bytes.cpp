// Purpose: takes the parts of a fuzz input from its front, and writes them back in the same order.
#include "bytes.h"

#include <cstdio>
#include <cstdlib>

namespace memtrace::tests {

void broken(const char* what) {
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

} // namespace memtrace::tests
