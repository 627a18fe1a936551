// Purpose: finds the symbols of loaded objects in their own tables, without a call to the loader.
// Runs: in the constructor, or before it.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

// Returns the hash of a name in DT_GNU_HASH.
std::uint32_t hash_of(const char* name);

// The parts of an object's dynamic section that a look-up needs. glibc has relocated the pointers, except those
// of the vDSO.
struct Dynamic {
  ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const std::uint32_t* hash =
      nullptr; // DT_GNU_HASH: buckets, first hashed symbol, words of the filter, its shift
  const std::uint32_t* old_hash = nullptr; // DT_HASH: buckets, symbols. An object may have only this one
  const std::uint16_t* versions = nullptr; // DT_VERSYM; null if no symbol has a version
  const ElfW(Rela) * tables[2] = {};
  std::size_t bytes[2] = {};

  explicit Dynamic(const link_map* object);
  bool complete() const {
    return symbols != nullptr && names != nullptr && (hash != nullptr || old_hash != nullptr);
  }
  // Undefined symbols are before this one. DT_GNU_HASH covers the symbols after them.
  std::uint32_t undefined_end() const { return hash != nullptr ? hash[1] : old_hash[1]; }

  // Calls take(symbol) for each symbol that the object defines, or once defined.
  template <class Take>
  void each_defined(Take take) const {
    for (std::uint32_t i = 1; hash == nullptr && i < old_hash[1]; ++i)
      if (symbols[i].st_shndx != SHN_UNDEF) take(symbols[i]);
    if (hash == nullptr) return;
    const std::uint32_t buckets = hash[0], first = hash[1];
    for (std::uint32_t b = 0; b < buckets; ++b) {
      for (std::uint32_t i = bucket(b); i >= first; ++i) {
        take(symbols[i]);
        if (ends_chain(i)) break;
      }
    }
  }

  // Returns the symbol `name` if the object defines it, or null. Skips, like dlsym, a version that is only for
  // programs linked long ago: glibc has two of quick_exit. Skips, unlike dlsym, the stub of an executable that
  // takes the address of another object's function.
  const ElfW(Sym) * definition(const char* name) const { return definition(name, hash_of(name)); }
  const ElfW(Sym) * definition(const char* name, std::uint32_t name_hash) const;
  // Returns the function `name` that the object at `base` defines, or null if there is none.
  void* function(ElfW(Addr) base, const char* name) const;

 private:
  const std::uint32_t* first_bucket() const {
    return hash + 4 + hash[2] * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
  }
  std::uint32_t bucket(std::uint32_t b) const { return first_bucket()[b]; }
  // A chain has the hash of each symbol; its last bit is set at the end of the chain.
  std::uint32_t link(std::uint32_t i) const { return first_bucket()[hash[0] + i - hash[1]]; }
  bool ends_chain(std::uint32_t i) const { return (link(i) & 1) != 0; }
  bool same_hash(std::uint32_t i, std::uint32_t wanted) const { return (link(i) ^ wanted) >> 1 == 0; }
  bool may_define(std::uint32_t wanted) const;
  bool is_definition(std::uint32_t i, const char* name) const;
  const ElfW(Sym) * definition_by_old_hash(const char* name) const;
};

// The program headers of the object that contains this code, as they are in memory.
struct ProgramHeaders {
  std::uintptr_t base;
  ElfW(Phdr) * headers;
  std::size_t count;
};
ProgramHeaders own_segments();

// The memory of one loaded object, as its program headers describe it.
struct ObjectRange {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;
  std::uintptr_t eh_frame_header = 0; // 0 if it has none
};
// `bias` is what the loader added to the addresses in the file. Returns {} if no header loads anything.
ObjectRange object_range(std::uintptr_t bias, const ElfW(Phdr) * headers, std::size_t count);

// Returns the first object of the program's list: the executable.
const link_map* first_object();
// Return the name of the object's file, and its DT_SONAME; "" if there is none.
const char* file_name(const link_map* map);
const char* soname(const link_map* map);
// Returns the first definition of a function in `map` or in an object after it, or null if there is none.
void* function_from(const link_map* map, const char* name);
// Returns what the loader's lookup from `map` on returns, or null if only the loader can tell: there is no
// definition, or the first one is not a plain function.
void* plain_function_from(const link_map* map, const char* name);
// The same for at most 32 names, which lie `stride` bytes apart. Reads the tables of each object once.
void plain_functions_from(const link_map* map, const char* names, std::size_t stride, std::size_t count,
                          void** out);
// Returns the object that contains `address`, and the object's first byte in `*start`. Returns null if there is
// none. Not while another thread may load or unload a library.
const link_map* object_at(const void* address, std::uintptr_t* start);

} // namespace memtrace::record
