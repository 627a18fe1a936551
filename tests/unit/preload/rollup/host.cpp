// Purpose: what the rollup asks of its host, for tests: memory, whose bytes it counts and can refuse, and
// texts.
#include "host.h"

#include <cstdlib>
#include <cstring>
#include <set>

namespace memtrace::tests {

World world;

namespace {

// What is mapped: the fold keeps its tables as long as the process lives. Freed before the next test.
auto& mapped = *new std::set<void*>; // never destroyed: at the end it still names the last test's

void* map_zeroed(std::size_t bytes) {
  return *mapped.insert(std::calloc(1, bytes)).first;
}
void unmap(void* memory) {
  mapped.erase(memory);
  std::free(memory);
}

} // namespace

rollup::Host host() {
  while (!mapped.empty()) unmap(*mapped.begin());
  world = {};
  rollup::Host host{};
  host.map = [](std::size_t bytes) -> void* {
    if (world.bytes + bytes > world.most) return nullptr;
    world.bytes += bytes;
    return map_zeroed(bytes);
  };
  host.extend = [](void* memory, std::size_t bytes, std::size_t wanted) -> void* {
    if (world.bytes + wanted - bytes > world.most) return nullptr;
    world.bytes += wanted - bytes;
    auto* const extended = static_cast<char*>(map_zeroed(wanted)); // always elsewhere
    std::memcpy(extended, memory, bytes);
    unmap(memory);
    return extended;
  };
  host.text = [](format::TextId id, char* out, std::size_t capacity) {
    const std::string& text = world.texts[static_cast<std::uint32_t>(id)];
    const std::size_t bytes = text.size() < capacity ? text.size() : capacity;
    std::memcpy(out, text.data(), bytes);
    return bytes;
  };
  host.define = [](format::TextId id, const char* text, std::size_t bytes) {
    world.defined[static_cast<std::uint32_t>(id)] = std::string(text, bytes);
  };
  host.lives = [](std::uint32_t thread) { return !world.gone.contains(thread); };
  return host;
}

} // namespace memtrace::tests
