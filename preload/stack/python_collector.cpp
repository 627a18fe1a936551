// Purpose: finds and reads the flag of CPython's collector of cycles.
// Runs: inside the program's free.
#include "preload/stack/python_collector.h"

#include <cstdint>
#include <cstring>

#include "preload/stack/python_frames.h"

namespace memtrace::record {
namespace {

// In each version the state of the collector has these fields in a row:
//   int collecting; PyObject* garbage; PyObject* callbacks;
// So the two lists identify the place, and memtrace needs no table of versions. The distance from the begin of
// the interpreter's state to `garbage` was 320 to 856 bytes in 3.9 to 3.12. It was 7608 in 3.13 and 3.14. The
// state of 3.9 is the smallest: it has more than 2 KiB.
constexpr std::size_t kNear = 2048; // bytes; present in each version
constexpr std::size_t kFar = 16384; // bytes; the state is larger since 3.12, where it is part of _PyRuntime
constexpr int kLargeSince = 12;
constexpr std::size_t kWord = sizeof(void*);

constinit const int* g_collecting = nullptr;
using ThreadState = void* (*)();
constinit ThreadState g_thread_state = nullptr;

const void* word_at(const char* place) {
  const void* value = nullptr;
  std::memcpy(&value, place, sizeof value);
  return value;
}

} // namespace

bool python_find_collector(const CollectorSymbols& symbols, const void* garbage, const void* callbacks) {
  if (symbols.interpreter == nullptr || symbols.this_thread_state == nullptr || garbage == callbacks)
    return false;
  const auto* const state = static_cast<const char*>(symbols.interpreter);
  const std::size_t end = (python_minor(symbols.version) >= kLargeSince ? kFar : kNear) - kWord;
  for (std::size_t at = kWord; at < end; at += kWord) {
    if (word_at(state + at) != garbage || word_at(state + at + kWord) != callbacks) continue;
    const auto* const flag = reinterpret_cast<const int*>(state + at - kWord);
    if (__atomic_load_n(flag, __ATOMIC_RELAXED) != 0)
      return false; // no collection runs now, so it is not a flag
    g_thread_state = symbols.this_thread_state;
    __atomic_store_n(&g_collecting, flag, __ATOMIC_RELEASE);
    return true;
  }
  return false;
}

void python_forget_collector() {
  __atomic_store_n(&g_collecting, nullptr, __ATOMIC_RELEASE);
}

bool python_collects() {
  const int* const flag = __atomic_load_n(&g_collecting, __ATOMIC_ACQUIRE);
  return flag != nullptr && __atomic_load_n(flag, __ATOMIC_RELAXED) != 0 && g_thread_state() != nullptr;
}

} // namespace memtrace::record
