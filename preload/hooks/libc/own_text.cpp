// Purpose: the memory and text functions that this library uses, defined here under libc's names. A program
// with a sanitizer defines memcpy, strlen and similar functions itself, and its definitions crash until the
// sanitizer has started. The compiler also emits calls of memcpy and memset, so the names must be these. They
// are hidden: the linker binds the library's references here, and no other object sees them.
// Runs: on any thread, also before any constructor.
#include <emmintrin.h>

#include <cstddef>
#include <cstdint>

#include "preload/os/gate/forbidden.h"

// Without this, gcc compiles the loops of memset and strlen into calls of memset and strlen. (clang obeys
// -fno-builtin.)
#ifndef __clang__
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

// Tests link these beside libc's functions.
#ifndef MEMTRACE_OWN
#define MEMTRACE_OWN(name) name
#endif
#define OWN extern "C" __attribute__((visibility("hidden"), used, nothrow))

namespace {

template <class T>
struct [[gnu::packed, gnu::may_alias]] Unaligned {
  T value;
};
template <class T>
T load(const void* at) {
  return static_cast<const Unaligned<T>*>(at)->value;
}
template <class T>
void store(void* at, T value) {
  static_cast<Unaligned<T>*>(at)->value = value;
}
__m128i load_wide(const char* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(at));
}
void store_wide(char* at, __m128i value) {
  _mm_storeu_si128(reinterpret_cast<__m128i_u*>(at), value);
}

// Copies fewer than 16 bytes. It reads all bytes before it writes any, so the ranges may overlap.
void copy_few(char* out, const char* in, std::size_t bytes) {
  if (bytes >= 8) {
    const auto head = load<std::uint64_t>(in), tail = load<std::uint64_t>(in + bytes - 8);
    store(out, head);
    store(out + bytes - 8, tail);
  } else if (bytes >= 4) {
    const auto head = load<std::uint32_t>(in), tail = load<std::uint32_t>(in + bytes - 4);
    store(out, head);
    store(out + bytes - 4, tail);
  } else if (bytes >= 1) {
    const char first = in[0], middle = in[bytes / 2], last = in[bytes - 1];
    out[0] = first;
    out[bytes / 2] = middle;
    out[bytes - 1] = last;
  }
}

// Reads the last piece first, so `out` may lie below `in` and overlap it.
void copy_upwards(char* out, const char* in, std::size_t bytes) {
  const __m128i last = load_wide(in + bytes - 16);
  for (std::size_t i = 0; i + 16 < bytes; i += 16) store_wide(out + i, load_wide(in + i));
  store_wide(out + bytes - 16, last);
}
void copy_downwards(char* out, const char* in, std::size_t bytes) {
  const __m128i first = load_wide(in);
  for (std::size_t i = bytes; i > 16; i -= 16) store_wide(out + i - 16, load_wide(in + i - 16));
  store_wide(out, first);
}

int difference(const char* a, const char* b) {
  return static_cast<unsigned char>(*a) - static_cast<unsigned char>(*b);
}

} // namespace

OWN void* MEMTRACE_OWN(memmove)(void* to, const void* from, std::size_t bytes) {
  auto* const out = static_cast<char*>(to);
  const auto* const in = static_cast<const char*>(from);
  if (bytes < 16)
    copy_few(out, in, bytes);
  else if (out <= in || out >= in + bytes)
    copy_upwards(out, in, bytes);
  else
    copy_downwards(out, in, bytes);
  return to;
}

OWN void* MEMTRACE_OWN(memcpy)(void* to, const void* from, std::size_t bytes) {
  auto* const out = static_cast<char*>(to);
  const auto* const in = static_cast<const char*>(from);
  if (bytes < 16)
    copy_few(out, in, bytes);
  else
    copy_upwards(out, in, bytes);
  return to;
}

OWN void* MEMTRACE_OWN(memset)(void* to, int value, std::size_t bytes) {
  auto* const out = static_cast<char*>(to);
  if (bytes < 16) {
    for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<char>(value);
    return to;
  }
  const __m128i all = _mm_set1_epi8(static_cast<char>(value));
  for (std::size_t i = 0; i + 16 < bytes; i += 16) store_wide(out + i, all);
  store_wide(out + bytes - 16, all);
  return to;
}

OWN int MEMTRACE_OWN(memcmp)(const void* a, const void* b, std::size_t bytes) {
  const auto* one = static_cast<const char*>(a);
  const auto* other = static_cast<const char*>(b);
  std::size_t i = 0;
  while (i + 8 <= bytes && load<std::uint64_t>(one + i) == load<std::uint64_t>(other + i)) i += 8;
  for (; i < bytes; ++i)
    if (one[i] != other[i]) return difference(one + i, other + i);
  return 0;
}

// Reads no byte beyond `bytes`: valgrind would report it.
OWN void* MEMTRACE_OWN(memchr)(const void* text, int wanted, std::size_t bytes) {
  const auto* const at = static_cast<const char*>(text);
  const __m128i all = _mm_set1_epi8(static_cast<char>(wanted));
  std::size_t i = 0;
  for (; i + 16 <= bytes; i += 16) {
    const int equal = _mm_movemask_epi8(_mm_cmpeq_epi8(load_wide(at + i), all));
    if (equal != 0) return const_cast<char*>(at + i + __builtin_ctz(static_cast<unsigned>(equal)));
  }
  for (; i < bytes; ++i)
    if (at[i] == static_cast<char>(wanted)) return const_cast<char*>(at + i);
  return nullptr;
}

OWN std::size_t MEMTRACE_OWN(strlen)(const char* text) {
  std::size_t bytes = 0;
  while (text[bytes] != '\0') ++bytes;
  return bytes;
}

OWN std::size_t MEMTRACE_OWN(strnlen)(const char* text, std::size_t most) {
  std::size_t bytes = 0;
  while (bytes < most && text[bytes] != '\0') ++bytes;
  return bytes;
}

OWN int MEMTRACE_OWN(strcmp)(const char* a, const char* b) {
  for (; *a != '\0' && *a == *b; ++a) ++b;
  return difference(a, b);
}

OWN int MEMTRACE_OWN(strncmp)(const char* a, const char* b, std::size_t most) {
  for (; most != 0; --most, ++a, ++b) {
    if (*a != *b) return difference(a, b);
    if (*a == '\0') break;
  }
  return 0;
}

OWN char* MEMTRACE_OWN(strchr)(const char* text, int wanted) {
  for (;; ++text) {
    if (*text == static_cast<char>(wanted)) return const_cast<char*>(text);
    if (*text == '\0') return nullptr;
  }
}

OWN char* MEMTRACE_OWN(strrchr)(const char* text, int wanted) {
  const char* last = nullptr;
  for (;; ++text) {
    if (*text == static_cast<char>(wanted)) last = text;
    if (*text == '\0') return const_cast<char*>(last);
  }
}

OWN std::size_t MEMTRACE_OWN(strcspn)(const char* text, const char* stops) {
  std::size_t bytes = 0;
  for (; text[bytes] != '\0'; ++bytes)
    for (const char* stop = stops; *stop != '\0'; ++stop)
      if (text[bytes] == *stop) return bytes;
  return bytes;
}

OWN char* MEMTRACE_OWN(strstr)(const char* text, const char* wanted) {
  for (;; ++text) {
    std::size_t same = 0;
    while (wanted[same] != '\0' && text[same] == wanted[same]) ++same;
    if (wanted[same] == '\0') return const_cast<char*>(text);
    if (*text == '\0') return nullptr;
  }
}
