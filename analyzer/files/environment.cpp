// Purpose: reads variables of the environment.
#include "analyzer/files/environment.h"

#include <cstdlib>

namespace memtrace::files {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

} // namespace memtrace::files
