// Purpose: finds the symbols of loaded objects in their own tables, without a call to the loader.
// Runs: in the constructor, or before it.
#include "preload/os/libc/elf_tables.h"

#include <cstring>

#include "preload/os/gate/forbidden.h"

// The first byte of this object. The linker defines the name.
extern "C" __attribute__((visibility("hidden"))) const ElfW(Ehdr) __ehdr_start;

namespace memtrace::record {
namespace {

std::uint32_t hash_of(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

} // namespace

Dynamic::Dynamic(const link_map* object) {
  for (const ElfW(Dyn)* entry = object->l_ld; entry->d_tag != DT_NULL; ++entry) {
    const auto address = entry->d_un.d_ptr;
    switch (entry->d_tag) {
      case DT_SYMTAB:
        symbols = reinterpret_cast<ElfW(Sym)*>(address);
        break;
      case DT_STRTAB:
        names = reinterpret_cast<const char*>(address);
        break;
      case DT_GNU_HASH:
        hash = reinterpret_cast<const std::uint32_t*>(address);
        break;
      case DT_RELA:
        tables[0] = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_RELASZ:
        bytes[0] = entry->d_un.d_val;
        break;
      case DT_JMPREL:
        tables[1] = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_PLTRELSZ:
        bytes[1] = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
}

void* Dynamic::function(ElfW(Addr) base, const char* name) const {
  const std::uint32_t buckets = hash[0];
  if (buckets == 0) return nullptr;
  for (std::uint32_t i = bucket(hash_of(name) % buckets); i >= hash[1]; ++i) {
    const ElfW(Sym)& symbol = symbols[i];
    if (symbol.st_value != 0 && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
        std::strcmp(names + symbol.st_name, name) == 0)
      return reinterpret_cast<void*>(base + symbol.st_value);
    if (ends_chain(i)) break;
  }
  return nullptr;
}

ProgramHeaders own_segments() {
  const auto base = reinterpret_cast<std::uintptr_t>(&__ehdr_start);
  return {base, reinterpret_cast<ElfW(Phdr)*>(base + __ehdr_start.e_phoff), __ehdr_start.e_phnum};
}

const link_map* first_object() {
  return _r_debug.r_map;
}

void* function_from(const link_map* map, const char* name) {
  for (; map != nullptr; map = map->l_next) {
    const Dynamic object(map);
    // The vDSO's pointers are not relocated.
    if (!object.complete() || reinterpret_cast<std::uintptr_t>(object.symbols) < map->l_addr) continue;
    if (void* const found = object.function(map->l_addr, name); found != nullptr) return found;
  }
  return nullptr;
}

} // namespace memtrace::record
