// Purpose: finds the recorder's bridge, once.
// Runs: outside callbacks.
#include "cupti/bridge.h"

#include <cstring>

#include "cupti/loader_calls.h"

namespace memtrace::cupti {

const memtrace_bridge* find_bridge() {
  static constinit const memtrace_bridge* found = nullptr;
  if (found != nullptr) return found;
  void* const symbol = dlsym(RTLD_DEFAULT, "memtrace_open_bridge");
  if (symbol == nullptr) {
    dlerror();
    return nullptr;
  }
  memtrace_bridge_function ask = nullptr;
  std::memcpy(&ask, &symbol, sizeof ask);
  const memtrace_bridge* const bridge = ask(MEMTRACE_BRIDGE_VERSION);
  if (bridge != nullptr && bridge->bytes >= sizeof(memtrace_bridge)) found = bridge;
  return found;
}

} // namespace memtrace::cupti
