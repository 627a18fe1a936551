// Purpose: finds the symbols of loaded objects in their own tables, without a call to the loader.
// Runs: in the constructor, or before it.
#include "preload/os/libc/elf_tables.h"

#include <sys/auxv.h>

#include <cstring>

#include "preload/os/gate/forbidden.h"

// The first byte of this object. The linker defines the name.
extern "C" __attribute__((visibility("hidden"))) const ElfW(Ehdr) __ehdr_start;

namespace memtrace::record {
namespace {

constexpr std::uintptr_t kPageBytes = 4096;

std::uint32_t hash_of(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

// The headers of an executable at a fixed address are not at its bias, which is 0. The kernel says where they
// are.
ObjectRange range_of(const link_map* map) {
  if (map == first_object())
    return object_range(map->l_addr, reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR)),
                        getauxval(AT_PHNUM));
  const auto* const elf = reinterpret_cast<const ElfW(Ehdr)*>(map->l_addr);
  if (elf == nullptr) return {};
  return object_range(map->l_addr, reinterpret_cast<const ElfW(Phdr)*>(map->l_addr + elf->e_phoff),
                      elf->e_phnum);
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
      case DT_VERSYM:
        versions = reinterpret_cast<const std::uint16_t*>(address);
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
  constexpr std::uint16_t kOnlyForOldPrograms = 0x8000;
  const std::uint32_t buckets = hash[0];
  if (buckets == 0) return nullptr;
  for (std::uint32_t i = bucket(hash_of(name) % buckets); i >= hash[1]; ++i) {
    const ElfW(Sym)& symbol = symbols[i];
    const bool old = versions != nullptr && (versions[i] & kOnlyForOldPrograms) != 0;
    if (symbol.st_value != 0 && symbol.st_shndx != SHN_UNDEF && !old &&
        ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && std::strcmp(names + symbol.st_name, name) == 0)
      return reinterpret_cast<void*>(base + symbol.st_value);
    if (ends_chain(i)) break;
  }
  return nullptr;
}

ProgramHeaders own_segments() {
  const auto base = reinterpret_cast<std::uintptr_t>(&__ehdr_start);
  return {base, reinterpret_cast<ElfW(Phdr)*>(base + __ehdr_start.e_phoff), __ehdr_start.e_phnum};
}

ObjectRange object_range(std::uintptr_t bias, const ElfW(Phdr) * headers, std::size_t count) {
  ObjectRange range{~std::uintptr_t{0}, 0, 0};
  for (std::size_t i = 0; i < count; ++i) {
    const std::uintptr_t start = bias + headers[i].p_vaddr;
    if (headers[i].p_type == PT_GNU_EH_FRAME) range.eh_frame_header = start;
    if (headers[i].p_type != PT_LOAD) continue;
    if (start < range.start) range.start = start;
    if (start + headers[i].p_memsz > range.end) range.end = start + headers[i].p_memsz;
  }
  if (range.end == 0) return {};
  range.start &= ~(kPageBytes - 1);
  return range;
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

const link_map* object_at(const void* address, std::uintptr_t* start) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const link_map* map = first_object(); map != nullptr; map = map->l_next) {
    const ObjectRange range = range_of(map);
    if (at < range.start || at >= range.end) continue;
    *start = range.start;
    return map;
  }
  return nullptr;
}

} // namespace memtrace::record
