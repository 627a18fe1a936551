// Purpose: stacks by the back end that is linked, beside those of libgcc or of libunwind (ORACLE). Prints how
// many were compared and how many differed. If some differ, the exit status is 77. A preload object: inside any
// program's malloc, so that its stacks are those of real code.
#ifdef MEMTRACE_WITH_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

#include <dlfcn.h>
#include <unistd.h>
#include <unwind.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "preload/stack/loaded_modules.h"
#include "preload/stack/native_unwinder.h"

namespace {

using namespace memtrace::record;

constexpr std::size_t kRoom = 256;
constexpr std::size_t kUsual = 48;   // as the recorder has: most walks follow the one before
constexpr std::size_t kLarge = 4096; // all of these, and a part of the rest
unsigned long one_in = 8;

void* (*real_malloc)(std::size_t) = nullptr;
int (*real_posix_memalign)(void**, std::size_t, std::size_t) = nullptr;
thread_local bool busy __attribute__((tls_model("initial-exec"))) = false;
thread_local UnwindMemory walk __attribute__((tls_model("initial-exec"))){};
Range own{};
bool ready = false;
unsigned long calls = 0, compared = 0, frames = 0, differed = 0, cut = 0;

struct Theirs {
  std::uint64_t address[kRoom];
  std::size_t count;
  std::size_t room;
};

_Unwind_Reason_Code add(_Unwind_Context* context, void* out) {
  auto& theirs = *static_cast<Theirs*>(out);
  int before = 0;
  const std::uint64_t ip = _Unwind_GetIPInfo(context, &before) + static_cast<unsigned>(before != 0);
  if (own.holds(ip)) return _URC_NO_REASON;
  if (ip <= 1 || theirs.count == theirs.room) return _URC_END_OF_STACK;
  theirs.address[theirs.count++] = ip;
  return _URC_NO_REASON;
}

#ifdef MEMTRACE_WITH_LIBUNWIND
#define TEXT_OF(name) #name
#define NAME_OF(function) TEXT_OF(function)

// Frame by frame, as the manual of libunwind describes it: opened here, and none of its imports redirected.
struct Libunwind {
  decltype(&unw_init_local) init_local;
  decltype(&unw_step) step;
  decltype(&unw_get_reg) get_reg;
  decltype(&unw_is_signal_frame) is_signal_frame;
  decltype(&unw_tdep_getcontext) get_context;
};
Libunwind libunwind{};

bool open_libunwind() {
  void* const handle = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
  const auto find = [&](const char* name, auto* out) {
    void* const found = handle != nullptr ? dlsym(handle, name) : nullptr;
    std::memcpy(out, &found, sizeof found);
    return found != nullptr;
  };
  return find(NAME_OF(unw_init_local), &libunwind.init_local) && find(NAME_OF(unw_step), &libunwind.step) &&
         find(NAME_OF(unw_get_reg), &libunwind.get_reg) &&
         find(NAME_OF(unw_is_signal_frame), &libunwind.is_signal_frame) &&
         find(NAME_OF(unw_tdep_getcontext), &libunwind.get_context);
}

void walk_by_libunwind(Theirs& theirs) {
  unw_context_t context;
  unw_cursor_t cursor;
  if (libunwind.get_context(&context) != 0 || libunwind.init_local(&cursor, &context) != 0) return;
  for (;;) {
    const bool interrupted = libunwind.is_signal_frame(&cursor) > 0;
    unw_word_t ip = 0;
    if (libunwind.step(&cursor) <= 0 || libunwind.get_reg(&cursor, UNW_REG_IP, &ip) != 0 || ip == 0) return;
    if (own.holds(ip)) continue;
    if (theirs.count == theirs.room) return;
    theirs.address[theirs.count++] = ip + static_cast<unsigned>(interrupted);
  }
}
#else
bool open_libunwind() {
  return false;
}
void walk_by_libunwind(Theirs&) {}
#endif

bool by_libunwind = false;

void walk_by_oracle(Theirs& theirs) {
  if (by_libunwind)
    walk_by_libunwind(theirs);
  else
    _Unwind_Backtrace(&add, &theirs);
}

void compare(std::size_t bytes) {
  if (!ready || busy) return;
  const unsigned long call = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  if (bytes < kLarge && call % one_in != 0) return;
  busy = true;
  std::uint64_t ours[kRoom];
  Theirs theirs{};
  theirs.room = call % 128 == 0 ? kRoom : kUsual;
  const std::size_t count = unwind(ours, theirs.room, own, Range{}, 0, walk).count;
  walk_by_oracle(theirs);
  bool same = count <= theirs.count;
  for (std::size_t i = 0; same && i < count; ++i) same = ours[i] == theirs.address[i];
  __atomic_add_fetch(&compared, 1, __ATOMIC_RELAXED);
  __atomic_add_fetch(&frames, count, __ATOMIC_RELAXED);
  if (!same) __atomic_add_fetch(&differed, 1, __ATOMIC_RELAXED);
  if (same && count < theirs.count) __atomic_add_fetch(&cut, 1, __ATOMIC_RELAXED);
  busy = false;
}

void say() {
  ready = false;
  std::fprintf(stderr, "unwind_compare: %lu stacks of %lu frames, %lu differ, %lu end early\n", compared,
               frames, differed, cut);
  if (differed != 0 || cut != 0) _exit(77);
}

__attribute__((constructor)) void begin() {
  real_malloc = reinterpret_cast<void* (*)(std::size_t)>(dlsym(RTLD_NEXT, "malloc"));
  real_posix_memalign =
      reinterpret_cast<int (*)(void**, std::size_t, std::size_t)>(dlsym(RTLD_NEXT, "posix_memalign"));
  if (const char* const text = getenv("ONE_IN"); text != nullptr) one_in = std::strtoul(text, nullptr, 10);
  if (const char* const oracle = getenv("ORACLE"); oracle != nullptr && std::strcmp(oracle, "libunwind") == 0) {
    by_libunwind = open_libunwind();
    if (!by_libunwind) {
      std::fputs("unwind_compare: skipped 'libunwind.so.8 cannot be opened'\n", stderr);
      return;
    }
  }
  find_modules_by("");
  if (!open_unwinder()) return;
  dl_find_object object{};
  find_object(reinterpret_cast<std::uint64_t>(&begin), &object);
  own = {reinterpret_cast<std::uint64_t>(object.dlfo_map_start),
         reinterpret_cast<std::uint64_t>(object.dlfo_map_end)};
  Theirs warm{};
  warm.room = kRoom;
  walk_by_oracle(warm);
  std::atexit(&say);
  ready = true;
}

} // namespace

extern "C" void* malloc(std::size_t bytes) {
  if (real_malloc == nullptr)
    real_malloc = reinterpret_cast<void* (*)(std::size_t)>(dlsym(RTLD_NEXT, "malloc"));
  compare(bytes);
  return real_malloc(bytes);
}
extern "C" int posix_memalign(void** out, std::size_t align, std::size_t bytes) {
  compare(kLarge);
  return real_posix_memalign(out, align, bytes);
}
