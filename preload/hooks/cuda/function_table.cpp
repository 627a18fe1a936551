// Purpose: the table of hooked CUDA functions: their names, their names for cuGetProcAddress, the real
// functions.
// Runs: inside the calls of CUDA, and inside lookups by name.
#include "preload/hooks/cuda/function_table.h"

#include <dlfcn.h>

#include <cstring>

#include "preload/hooks/cuda/types.h"
#include "preload/hooks/symbols/real_lookups.h"
#include "preload/os/gate/start_page.h"
#include "preload/os/libc/libc_table.h"

#define RUNTIME(name) extern "C" void name();
#define DRIVER(name, base, since) extern "C" void name();
#include "preload/hooks/cuda/functions.def"

namespace memtrace::hooks::cuda {
namespace {

using Hook = void (*)();
#define RUNTIME(name) &::name,
#define DRIVER(name, base, since) &::name,
constexpr Hook kHooks[] = {
#include "preload/hooks/cuda/functions.def"
};
#define RUNTIME(name) {#name, "", 0},
#define DRIVER(name, base, since) {#name, #base, since},
constexpr Hooked kTable[] = {
#include "preload/hooks/cuda/functions.def"
};
constinit void* reals[sizeof kTable / sizeof *kTable] = {}; // null: not found yet

} // namespace
} // namespace memtrace::hooks::cuda

#include "preload/os/gate/forbidden.h"

namespace memtrace::hooks::cuda {
namespace {

ON_START_PAGE constinit bool are_hidden = false;

bool per_thread(const Hooked& function) {
  const std::size_t length = std::strlen(function.name);
  return length > 5 && std::strcmp(function.name + length - 5, "_ptsz") == 0;
}

constexpr const char* kDriver[] = {"libcuda.so.1"};
constexpr const char* kRuntime[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"};

// Returns the definition after memtrace's in the global scope, or the one in a library that was opened
// RTLD_LOCAL.
template <std::size_t N>
void* below(const char* const (&sonames)[N], const char* name) {
  void* found = real_dlsym(RTLD_NEXT, name);
  for (std::size_t i = 0; found == nullptr && i < N; ++i) {
    void* const library = record::libc.dlopen(sonames[i], RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    found = real_dlsym(library, name);
    dlclose(library); // lowers its count: it stays loaded
  }
  if (found == nullptr) record::libc.dlerror(); // clears the error, so that the program does not find it
  return found;
}

void*& known_real(const Hooked& function) {
  return reals[&function - kTable];
}

// Ignores memtrace's own hook, which would call itself.
void remember(const Hooked& function, void* found) {
  if (found != nullptr && found != hook_of(function))
    __atomic_store_n(&known_real(function), found, __ATOMIC_RELEASE);
}

} // namespace

void* hook_of(const Hooked& function) {
  return reinterpret_cast<void*>(kHooks[&function - kTable]);
}

const Hooked* named(const char* name) {
  if (name[0] != 'c' || name[1] != 'u') return nullptr;
  for (const Hooked& function : kTable)
    if (std::strcmp(function.name, name) == 0) return &function;
  return nullptr;
}

void* real_of(const Hooked& function) {
  void*& real = known_real(function);
  if (void* const known = __atomic_load_n(&real, __ATOMIC_ACQUIRE); known != nullptr) return known;
  remember(function, function.is_of_driver() ? of_driver(function.name) : of_runtime(function.name));
  return __atomic_load_n(&real, __ATOMIC_ACQUIRE);
}

void* real_of(Function function) {
  return real_of(kTable[static_cast<std::size_t>(function)]);
}

void* stands_for(const char* base, int version, std::uint64_t flags, void* found) {
  if (found == nullptr || are_hidden) return found;
  const Hooked* best = nullptr;
  const bool wants_per_thread = (flags & kPerThreadStream) != 0;
  for (const Hooked& function : kTable) {
    if (!function.is_of_driver() || version < function.since || std::strcmp(function.base, base) != 0) continue;
    if (per_thread(function) && !wants_per_thread) continue;
    // Later rows of the table are newer versions, or those of the per-thread default stream.
    if (best == nullptr || function.since >= best->since) best = &function;
  }
  if (best == nullptr) return found;
  if (real_of(*best) == nullptr) remember(*best, found);
  return hook_of(*best);
}

void* of_driver(const char* name) {
  return below(kDriver, name);
}
void* of_runtime(const char* name) {
  return below(kRuntime, name);
}

void hide() {
  are_hidden = true;
}
bool hidden() {
  return are_hidden;
}

} // namespace memtrace::hooks::cuda
