// Purpose: the names of NVTX ranges, each stored once and never freed.
// Runs: on the program's threads.
#include "cupti/nvtx_names.h"

#include <sys/mman.h>

#include <atomic>
#include <cstring>

namespace memtrace::cupti::nvtx {
namespace {

constexpr std::size_t kMost = 2048;       // names
constexpr std::size_t kSlots = 2 * kMost; // a power of two
constinit std::atomic<Name*> pool{nullptr};
constinit std::atomic<std::uint32_t> used{0};
constinit std::atomic<const Name*> slots[kSlots] = {};

Name* names() {
  Name* const have = pool.load(std::memory_order_acquire);
  if (have != nullptr) return have;
  void* const fresh = mmap(nullptr, kMost * sizeof(Name), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (fresh == MAP_FAILED) return nullptr;
  Name* expected = nullptr;
  if (pool.compare_exchange_strong(expected, static_cast<Name*>(fresh), std::memory_order_acq_rel))
    return static_cast<Name*>(fresh);
  munmap(fresh, kMost * sizeof(Name));
  return expected;
}

const Name* add(const char* text, std::size_t bytes) {
  Name* const all = names();
  if (all == nullptr || used.load(std::memory_order_relaxed) >= kMost) return nullptr;
  const std::uint32_t at = used.fetch_add(1, std::memory_order_relaxed);
  if (at >= kMost) return nullptr;
  all[at].bytes = static_cast<std::uint32_t>(bytes);
  std::memcpy(all[at].text, text, bytes);
  return &all[at];
}

const Name* find_or_add(const char* text, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<unsigned char>(text[i])) * 0x100000001b3;
  const Name* added = nullptr;
  for (std::size_t i = 0; i < kSlots; ++i) {
    std::atomic<const Name*>& slot = slots[(hash + i) % kSlots];
    const Name* there = slot.load(std::memory_order_acquire);
    if (there == nullptr) {
      if (added == nullptr) added = add(text, bytes);
      if (added == nullptr) return nullptr;
      if (slot.compare_exchange_strong(there, added, std::memory_order_acq_rel)) return added;
    }
    if (there->bytes == bytes && std::memcmp(there->text, text, bytes) == 0) return there;
  }
  return nullptr;
}

// Writes one code point. wchar_t has 32 bits, so surrogates of UTF-16 do not occur.
std::size_t put_utf8(char* out, std::uint32_t point) {
  if (point < 0x80) return *out = static_cast<char>(point), 1;
  if (point < 0x800) {
    out[0] = static_cast<char>(0xC0 | point >> 6);
    out[1] = static_cast<char>(0x80 | (point & 0x3F));
    return 2;
  }
  if (point < 0x10000) {
    out[0] = static_cast<char>(0xE0 | point >> 12);
    out[1] = static_cast<char>(0x80 | (point >> 6 & 0x3F));
    out[2] = static_cast<char>(0x80 | (point & 0x3F));
    return 3;
  }
  out[0] = static_cast<char>(0xF0 | (point >> 18 & 7));
  out[1] = static_cast<char>(0x80 | (point >> 12 & 0x3F));
  out[2] = static_cast<char>(0x80 | (point >> 6 & 0x3F));
  out[3] = static_cast<char>(0x80 | (point & 0x3F));
  return 4;
}

} // namespace

const Name* name_of(const char* text) {
  return text != nullptr ? find_or_add(text, strnlen(text, kMaxName)) : nullptr;
}

const Name* name_of(const wchar_t* text) {
  char utf8[kMaxName + 4];
  std::size_t bytes = 0;
  for (; text != nullptr && *text != L'\0' && bytes + 4 <= kMaxName; ++text)
    bytes += put_utf8(utf8 + bytes, static_cast<std::uint32_t>(*text));
  return find_or_add(utf8, bytes);
}

const Name* name_of_handle(const void* handle) {
  const Name* const first = pool.load(std::memory_order_acquire);
  const auto at = reinterpret_cast<std::uintptr_t>(handle), from = reinterpret_cast<std::uintptr_t>(first);
  if (first == nullptr || at < from || (at - from) % sizeof(Name) != 0) return nullptr;
  const std::size_t index = (at - from) / sizeof(Name);
  return index < kMost && index < used.load(std::memory_order_relaxed) ? static_cast<const Name*>(handle)
                                                                       : nullptr;
}

} // namespace memtrace::cupti::nvtx
