// Room: hooks. In the constructor, or before it.
// Job: the symbols of loaded objects, read from their own tables: where dlsym itself is looked for, or hidden
// from.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

namespace memtrace::hooks {

// The parts of an object's dynamic section that a look-up needs. glibc has relocated the pointers, but the
// vDSO's.
struct Dynamic {
  ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const std::uint32_t* hash =
      nullptr; // DT_GNU_HASH: buckets, first hashed symbol, words of the filter, its shift
  const ElfW(Rela) * tables[2] = {};
  std::size_t bytes[2] = {};

  explicit Dynamic(const link_map* object);
  bool complete() const { return symbols != nullptr && names != nullptr && hash != nullptr; }
  // Undefined symbols come first: the hash table begins behind them.
  std::uint32_t undefined_end() const { return hash[1]; }

  // Each symbol that the object defines, or once did.
  template <class Take>
  void each_defined(Take take) const {
    const std::uint32_t buckets = hash[0], first = hash[1], filter = hash[2];
    const std::uint32_t* const bucket = hash + 4 + filter * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
    const std::uint32_t* const chain = bucket + buckets;
    for (std::uint32_t b = 0; b < buckets; ++b) {
      for (std::uint32_t i = bucket[b]; i >= first; ++i) {
        take(symbols[i]);
        if (chain[i - first] & 1) break;
      }
    }
  }
};

// This library's own.
link_map* own_object();
// The next definition of a function after ours, as RTLD_NEXT finds it, without dlsym. Null: there is none.
void* next_function(const char* name);

} // namespace memtrace::hooks
