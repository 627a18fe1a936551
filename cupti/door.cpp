// Purpose: the recorder's door, found once.
// Runs: outside callbacks.
#include "cupti/door.h"

#include <dlfcn.h>

#include <cstring>

namespace memtrace::cupti {

const memtrace_door* find_door() {
  static constinit const memtrace_door* found = nullptr;
  if (found != nullptr) return found;
  void* const symbol = dlsym(RTLD_DEFAULT, "memtrace_open_door");
  if (symbol == nullptr) {
    dlerror();
    return nullptr;
  }
  memtrace_door_function ask = nullptr;
  std::memcpy(&ask, &symbol, sizeof ask);
  const memtrace_door* const door = ask(MEMTRACE_DOOR_VERSION);
  if (door != nullptr && door->bytes >= sizeof(memtrace_door)) found = door;
  return found;
}

} // namespace memtrace::cupti
