// Purpose: the table of hooked CUDA functions: their names, their names for cuGetProcAddress, the real
// functions.
// Runs: inside the calls of CUDA, and inside lookups by name.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::hooks::cuda {

enum class Function : std::uint8_t {
#define RUNTIME(name) name,
#define DRIVER(name, base, since) name,
#include "preload/hooks/cuda/functions.def"
};

// Texts, not pointers: the loader would relocate each at every start.
struct Hooked {
  char name[44];
  char base[36]; // driver functions: the name for cuGetProcAddress; else empty
  int since;     // the CUDA version from which that name means this function

  bool is_of_driver() const { return base[0] != '\0'; }
};

// Returns the hooked function of that name, or null.
const Hooked* named(const char* name);
// Returns memtrace's function of that name.
void* hook_of(const Hooked& function);
// Returns the real function: the next definition after memtrace's, or the one in its own library, which may
// have been opened RTLD_LOCAL. Null: not found yet. Not inside malloc: it may take the loader's lock.
void* real_of(const Hooked& function);
void* real_of(Function function);
template <class Signature>
Signature* real(Function function) {
  return reinterpret_cast<Signature*>(real_of(function));
}
// Returns memtrace's hook for `found`, which cuGetProcAddress returned for this name; without a hook, `found`
// itself.
void* stands_for(const char* base, int version, std::uint64_t flags, void* found);

// Return a function that memtrace does not hook; null: not found.
void* of_driver(const char* name);
void* of_runtime(const char* name);

// hide() hides these names from every lookup: this machine has no CUDA.
void hide();
bool hidden();

} // namespace memtrace::hooks::cuda
