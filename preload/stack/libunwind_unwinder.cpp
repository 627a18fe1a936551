// Purpose: the back end of the unwinder over libunwind, which the constructor opens. It is never linked,
// because it would take over C++ exceptions (docs/decisions/0005).
// Runs: inside the program's malloc.
#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>

#include <cstring>

#include "preload/os/libc/libc_table.h"
#include "preload/stack/libunwind_imports.h"
#include "preload/stack/loaded_modules.h"
#include "preload/stack/native_unwinder.h"

// The name of a function in the library, which has the processor's name in it.
#define TEXT_OF(name) #name
#define NAME_OF(function) TEXT_OF(function)

namespace memtrace::record {
namespace {

constexpr const char* kLibrary = "libunwind.so.8";

struct Functions {
  decltype(&unw_backtrace) backtrace;
  decltype(&unw_init_local) init_local;
  decltype(&unw_step) step;
  decltype(&unw_get_reg) get_reg;
  decltype(&unw_is_signal_frame) is_signal_frame;
  decltype(&unw_set_caching_policy) set_caching_policy;
  decltype(&unw_flush_cache) flush_cache;
  unw_addr_space_t* space;
#if defined(__x86_64__)
  decltype(&unw_tdep_getcontext) get_context;
#endif
};
constinit Functions library{};
constinit bool opened = false;
constinit bool by_steps = false; // each walk goes from frame to frame

union LibunwindWalk {
  struct {
    unw_context_t context;
    unw_cursor_t cursor;
  };
  void* addresses[UnwindMemory::kBytes / sizeof(void*)];
};
static_assert(sizeof(LibunwindWalk) <= UnwindMemory::kBytes);

template <class Function>
bool find_function(void* handle, const char* name, Function* out) {
  void* const found = dlsym(handle, name);
  std::memcpy(out, &found, sizeof found);
  return found != nullptr;
}

bool find_functions(void* handle) {
  bool all = find_function(handle, "unw_backtrace", &library.backtrace) &&
             find_function(handle, NAME_OF(unw_init_local), &library.init_local) &&
             find_function(handle, NAME_OF(unw_step), &library.step) &&
             find_function(handle, NAME_OF(unw_get_reg), &library.get_reg) &&
             find_function(handle, NAME_OF(unw_is_signal_frame), &library.is_signal_frame) &&
             find_function(handle, NAME_OF(unw_set_caching_policy), &library.set_caching_policy) &&
             find_function(handle, NAME_OF(unw_flush_cache), &library.flush_cache) &&
             find_function(handle, NAME_OF(unw_local_addr_space), &library.space);
#if defined(__x86_64__)
  all = all && find_function(handle, NAME_OF(unw_tdep_getcontext), &library.get_context);
#endif
  return all;
}

// The addresses of a walk, as the interface promises them.
struct WalkedAddresses {
  std::uint64_t* out;
  std::size_t capacity;
  const Range& skip;
  const Range& stop;
  std::size_t count = 0;

  // False: the walk ends before this address.
  bool add(std::uint64_t address) {
    if (address == 0 || count == capacity || stop.holds(address)) return false;
    if (!skip.holds(address)) out[count++] = address;
    return true;
  }
};

#if defined(__x86_64__)
// True if a handler of a signal returns to this address, so that the next frame was interrupted. unw_backtrace
// does not mark such frames. The address is the start of libc's function that returns from a signal. It is
// aligned, and its code never changes, because debuggers look for it.
bool is_signal_return(std::uint64_t address) {
  constexpr unsigned char kCode[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}; // mov $15, %rax; syscall
  dl_find_object object{};
  return address % 16 == 0 && find_object(address, &object) &&
         std::memcmp(reinterpret_cast<const void*>(address), kCode, sizeof kCode) == 0;
}

// Walks by libunwind's cache of frame sizes, several times faster than walk_by_steps(). Skips the first
// address, which is in this function.
void walk_fast(LibunwindWalk& walk, WalkedAddresses& found, std::size_t own) {
  constexpr std::size_t kMost = sizeof walk.addresses / sizeof *walk.addresses;
  const std::size_t wanted = found.capacity + own < kMost ? found.capacity + own : kMost;
  const int count = library.backtrace(walk.addresses, static_cast<int>(wanted));
  bool interrupted = false;
  for (int i = 1; i < count; ++i) {
    const auto address = reinterpret_cast<std::uint64_t>(walk.addresses[i]);
    if (!found.add(address + static_cast<unsigned>(interrupted))) return;
    interrupted = is_signal_return(address);
  }
}
#endif

void walk_by_steps(LibunwindWalk& walk, WalkedAddresses& found) {
#if defined(__x86_64__)
  if (library.get_context(&walk.context) != 0) return;
#else
  if (unw_getcontext(&walk.context) != 0) return; // a macro with code of its own
#endif
  if (library.init_local(&walk.cursor, &walk.context) != 0) return;
  for (;;) {
    const bool interrupted = library.is_signal_frame(&walk.cursor) > 0;
    unw_word_t address = 0;
    if (library.step(&walk.cursor) <= 0 || library.get_reg(&walk.cursor, UNW_REG_IP, &address) != 0 ||
        address == 0 || !found.add(address + static_cast<unsigned>(interrupted)))
      return;
  }
}

bool open_library() {
  // If the program already uses libunwind, does not open it: its imports would change for the program, too.
  if (void* const used = libc.dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD); used != nullptr) {
    dlclose(used);
    return false;
  }
  void* const handle = libc.dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr || !find_functions(handle) ||
      !redirect_imports(static_cast<const link_map*>(handle))) // glibc's handles are link maps
    return false;
  // No lock and no system call, where the cache has the rule.
  library.set_caching_policy(*library.space, UNW_CACHE_PER_THREAD);
  return true;
}

// The first walk takes half a millisecond. It shows whether this version makes the expected calls.
bool warm_up() {
  static constinit UnwindMemory memory{};
  std::uint64_t some[8];
  opened = true;
  opened = unwind(some, 8, {}, {}, 0, memory).count >= 2;
  by_steps = true;
  opened = opened && unwind(some, 8, {}, {}, 0, memory).count >= 2 && searched_by_redirection();
#if defined(__x86_64__)
  by_steps = false;
#endif
  return opened;
}

} // namespace

[[gnu::section(".text.startup")]] bool unwinder_needs_loader() { // among the code of the constructor
  return true;
}

bool open_unwinder() {
  if (opened) return true;
  if (!modules_can_be_found()) return false;
  const bool out = open_library() && warm_up();
  if (!out) libc.dlerror(); // clears the error, so that the program does not find it
  return out;
}

// The fast walk never forgets the frame size of an address. If other code is loaded there, it would read
// invalid memory. So all later walks go step by step, by a cache that can be emptied.
void code_was_unloaded() {
  if (!opened || !some_module_is_gone()) return;
  __atomic_store_n(&by_steps, true, __ATOMIC_RELEASE);
  library.flush_cache(*library.space, 0, 0);
}

__attribute__((noinline)) Frames unwind(std::uint64_t* out, std::size_t capacity, const Range& skip,
                                        const Range& stop, std::uint64_t /*hint*/, UnwindMemory& memory) {
  if (!opened || !shared_memory_is_sound()) return {};
  auto& walk = *reinterpret_cast<LibunwindWalk*>(memory.opaque);
  WalkedAddresses found{out, capacity, skip, stop};
  const InWalk in_walk;
#if defined(__x86_64__)
  constexpr std::size_t kOwn = 16; // most frames in `skip`
  if (!__atomic_load_n(&by_steps, __ATOMIC_ACQUIRE)) {
    walk_fast(walk, found, kOwn);
    return {found.count};
  }
#endif
  walk_by_steps(walk, found);
  return {found.count};
}

// The loader allocates the library's TLS, 16 bytes, in the first walk of a thread.
bool unwinder_may_allocate() {
  return InWalk::is_open();
}

std::uint64_t unwinder_bytes() {
  return libunwind_bytes();
}

void drop_unwind_caches() {} // the library cannot

} // namespace memtrace::record
