// Purpose: finds the symbols of loaded objects in their own tables, without a call to the loader.
// Runs: in the constructor, or before it.
#include "preload/os/libc/elf_tables.h"

#include <sys/auxv.h>

#include <cstring>

#include "preload/os/gate/raw_call.h"

#include "preload/os/gate/forbidden.h"

// The first byte of this object. The linker defines the name.
extern "C" __attribute__((visibility("hidden"))) const ElfW(Ehdr) __ehdr_start;

namespace memtrace::record {
namespace {

constexpr std::uintptr_t kPageBytes = 4096;

bool is_plain_function(const ElfW(Sym) & symbol) {
  return ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
}

// The vDSO's pointers are not relocated.
bool is_searchable(const link_map* map, const Dynamic& object) {
  return object.complete() && reinterpret_cast<std::uintptr_t>(object.symbols) >= map->l_addr;
}

// True if the ELF header of the object is at `page`. The page may be any memory of the process, or none.
bool has_header_at(const link_map* map, std::uintptr_t page) {
  if (page == 0 || page % kPageBytes != 0) return false;
  // The kernel reads the mask before it rejects the first argument.
  if (os::call(SYS_rt_sigprocmask, ~0, static_cast<long>(page), 0, sizeof(std::uint64_t)) != -EINVAL)
    return false;
  const auto* const elf = reinterpret_cast<const ElfW(Ehdr)*>(page);
  if (std::memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (elf->e_phoff > kPageBytes || elf->e_phnum > (kPageBytes - elf->e_phoff) / sizeof(ElfW(Phdr)))
    return false;
  const auto* const headers = reinterpret_cast<const ElfW(Phdr)*>(page + elf->e_phoff);
  for (std::size_t i = 0; i < elf->e_phnum; ++i)
    if (headers[i].p_type == PT_DYNAMIC)
      return map->l_addr + headers[i].p_vaddr == reinterpret_cast<std::uintptr_t>(map->l_ld);
  return false;
}

// Returns null if there is none. It is not at the bias of an object that was linked for an address, as prelink
// does, and got another. Then it is below the dynamic section.
const ElfW(Ehdr) * header_of(const link_map* map) {
  constexpr int kMostPages = 16 * 1024;
  std::uintptr_t page = map->l_addr;
  for (int pages = 0; !has_header_at(map, page); ++pages) {
    if (pages == kMostPages || page == kPageBytes) return nullptr;
    page = pages == 0 ? reinterpret_cast<std::uintptr_t>(map->l_ld) & ~(kPageBytes - 1) : page - kPageBytes;
  }
  return reinterpret_cast<const ElfW(Ehdr)*>(page);
}

// The headers of an executable at a fixed address are not at its bias, which is 0. The kernel says where they
// are.
ObjectRange range_of(const link_map* map) {
  if (map == first_object())
    return object_range(map->l_addr, reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR)),
                        getauxval(AT_PHNUM));
  const auto* const elf = header_of(map);
  if (elf == nullptr) return {};
  const auto* const headers = reinterpret_cast<const char*>(elf) + elf->e_phoff;
  return object_range(map->l_addr, reinterpret_cast<const ElfW(Phdr)*>(headers), elf->e_phnum);
}

} // namespace

std::uint32_t hash_of(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

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
      case DT_HASH:
        old_hash = reinterpret_cast<const std::uint32_t*>(address);
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

// The filter has two bits for each symbol. It excludes most names that the object does not define.
bool Dynamic::may_define(std::uint32_t wanted) const {
  constexpr unsigned kBits = 8 * sizeof(ElfW(Addr));
  const auto* const words = reinterpret_cast<const ElfW(Addr)*>(hash + 4);
  const ElfW(Addr) word = words[wanted / kBits % hash[2]];
  return (word >> wanted % kBits & word >> (wanted >> hash[3]) % kBits & 1) != 0;
}

bool Dynamic::is_definition(std::uint32_t i, const char* name) const {
  constexpr std::uint16_t kOnlyForOldPrograms = 0x8000;
  const ElfW(Sym)& symbol = symbols[i];
  const bool old = versions != nullptr && (versions[i] & kOnlyForOldPrograms) != 0;
  return symbol.st_value != 0 && symbol.st_shndx != SHN_UNDEF && !old &&
         std::strcmp(names + symbol.st_name, name) == 0;
}

const ElfW(Sym) * Dynamic::definition_by_old_hash(const char* name) const {
  std::uint32_t wanted = 0;
  for (const char* at = name; *at != '\0'; ++at) {
    wanted = (wanted << 4) + static_cast<unsigned char>(*at);
    wanted = (wanted ^ (wanted >> 28 << 4)) & 0x0FFFFFFF;
  }
  const std::uint32_t buckets = old_hash[0];
  const std::uint32_t* const first = old_hash + 2;
  const std::uint32_t* const next = first + buckets;
  for (std::uint32_t i = buckets == 0 ? 0 : first[wanted % buckets]; i != 0; i = next[i])
    if (is_definition(i, name)) return &symbols[i];
  return nullptr;
}

const ElfW(Sym) * Dynamic::definition(const char* name, std::uint32_t wanted) const {
  if (hash == nullptr) return definition_by_old_hash(name);
  const std::uint32_t buckets = hash[0];
  if (buckets == 0 || !may_define(wanted)) return nullptr;
  for (std::uint32_t i = bucket(wanted % buckets); i >= hash[1]; ++i) {
    if (same_hash(i, wanted) && is_definition(i, name)) return &symbols[i];
    if (ends_chain(i)) break;
  }
  return nullptr;
}

void* Dynamic::function(ElfW(Addr) base, const char* name) const {
  const ElfW(Sym)* const symbol = definition(name);
  return symbol != nullptr && is_plain_function(*symbol) ? reinterpret_cast<void*>(base + symbol->st_value)
                                                         : nullptr;
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

const char* file_name(const link_map* map) {
  const char* name = map->l_name != nullptr ? map->l_name : "";
  for (const char* at = name; *at != '\0'; ++at)
    if (*at == '/') name = at + 1;
  return name;
}

const char* soname(const link_map* map) {
  const char* names = nullptr;
  ElfW(Addr) at = 0;
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SONAME) at = entry->d_un.d_val;
  }
  const bool relocated = reinterpret_cast<std::uintptr_t>(names) >= map->l_addr; // not those of the vDSO
  return names != nullptr && at != 0 && relocated ? names + at : "";
}

void* function_from(const link_map* map, const char* name) {
  for (; map != nullptr; map = map->l_next) {
    const Dynamic object(map);
    if (!is_searchable(map, object)) continue;
    if (void* const found = object.function(map->l_addr, name); found != nullptr) return found;
  }
  return nullptr;
}

void* plain_function_from(const link_map* map, const char* name) {
  void* found = nullptr;
  plain_functions_from(map, name, 0, 1, &found);
  return found;
}

void plain_functions_from(const link_map* map, const char* names, std::size_t stride, std::size_t count,
                          void** out) {
  constexpr std::size_t kMost = 32;
  std::uint32_t hashes[kMost];
  bool seen[kMost] = {};
  std::size_t missing = count < kMost ? count : kMost;
  for (std::size_t i = 0; i < missing; ++i) hashes[i] = hash_of(names + i * stride);
  for (; map != nullptr && missing != 0; map = map->l_next) {
    const Dynamic object(map);
    if (!is_searchable(map, object)) continue;
    for (std::size_t i = 0; i < count; ++i) {
      const ElfW(Sym)* const symbol = seen[i] ? nullptr : object.definition(names + i * stride, hashes[i]);
      if (symbol == nullptr) continue;
      seen[i] = true;
      --missing;
      if (is_plain_function(*symbol)) out[i] = reinterpret_cast<void*>(map->l_addr + symbol->st_value);
    }
  }
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
