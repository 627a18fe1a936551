// Purpose: reads and extends the environment without getenv and setenv.
// Runs: in the constructor.
#include "preload/os/environ.h"

#include <unistd.h>

#include <cstring>

#include "preload/os/mappings.h"

namespace memtrace::record {
namespace {

bool is_named(const char* entry, const char* name, std::size_t bytes) {
  return std::strncmp(entry, name, bytes) == 0 && entry[bytes] == '=';
}

} // namespace

const char* environment(const char* name) {
  const std::size_t bytes = std::strlen(name);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    if (is_named(*entry, name, bytes)) return *entry + bytes + 1;
  return nullptr;
}

const char* environment_text(const char* name) {
  const char* const value = environment(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

bool add_to_environment(const char* assignment) {
  const std::size_t bytes = static_cast<std::size_t>(std::strchr(assignment, '=') - assignment);
  std::size_t count = 0;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry, ++count) {
    if (!is_named(*entry, assignment, bytes)) continue;
    *entry = const_cast<char*>(assignment);
    return true;
  }
  auto** const list = static_cast<char**>(os::map_private((count + 2) * sizeof(char*)));
  if (list == nullptr) return false;
  for (std::size_t i = 0; i < count; ++i) list[i] = environ[i];
  list[count] = const_cast<char*>(assignment);
  environ = list; // glibc's setenv copies a list that it did not allocate
  return true;
}

} // namespace memtrace::record
