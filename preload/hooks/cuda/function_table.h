// Purpose: CUDA's functions that we stand before: by name, by what cuGetProcAddress calls them, and the real
// ones.
// Runs: inside the calls of CUDA, and of whoever looks for them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::hooks::cuda {

enum class Function : std::uint8_t {
#define RUNTIME(name) name,
#define DRIVER(name, base, since) name,
#include "preload/hooks/cuda/functions.def"
};

struct Hooked {
  const char* name;
  void* hook;
  const char* base; // of the driver: its name for cuGetProcAddress; else null
  int since;        // version of CUDA from which that name means this function
  void* real;       // null: not found so far
};

// The function of that name, or null.
Hooked* named(const char* name);
// The real function: the next definition after ours, or the one in the library that has it, though it may have
// been opened RTLD_LOCAL. Null: there is none so far. Not inside malloc: it may take the loader's lock.
void* real_of(Hooked& function);
void* real_of(Function function);
template <class Signature>
Signature* real(Function function) {
  return reinterpret_cast<Signature*>(real_of(function));
}
// What stands for `found`, which cuGetProcAddress gave for this name: our hook, or itself.
void* stands_for(const char* base, int version, std::uint64_t flags, void* found);

// A function that we do not stand before: null where there is none.
void* of_driver(const char* name);
void* of_runtime(const char* name);

// This machine has no CUDA: the names are not there for anybody.
void hide();
bool hidden();

} // namespace memtrace::hooks::cuda
