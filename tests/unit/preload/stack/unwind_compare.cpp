// Purpose: stacks by our own reading of the unwind tables beside libgcc's; says at the end how many were
// compared and how many differed, and then makes the exit status 77. A preload object: inside any program's
// malloc, so that its stacks are those of real code.
#include <dlfcn.h>
#include <unistd.h>
#include <unwind.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

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
thread_local Walk walk __attribute__((tls_model("initial-exec"))){};
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

void compare(std::size_t bytes) {
  if (!ready || busy) return;
  const unsigned long call = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  if (bytes < kLarge && call % one_in != 0) return;
  busy = true;
  std::uint64_t ours[kRoom];
  Theirs theirs{};
  theirs.room = call % 128 == 0 ? kRoom : kUsual;
  const std::size_t count = unwind(ours, theirs.room, own, Range{}, walk);
  _Unwind_Backtrace(&add, &theirs);
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
  find_modules_by("");
  if (!open_unwinder()) return;
  dl_find_object object{};
  find_object(reinterpret_cast<std::uint64_t>(&begin), &object);
  own = {reinterpret_cast<std::uint64_t>(object.dlfo_map_start),
         reinterpret_cast<std::uint64_t>(object.dlfo_map_end)};
  Theirs warm{};
  warm.room = kRoom;
  _Unwind_Backtrace(&add, &warm);
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
