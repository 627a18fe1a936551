// Purpose: finds the library that contains an address, without the loader's lock.
// Runs: inside the program's malloc, but only at first sight of an address.
#include "preload/stack/loaded_modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstring>

#include "preload/os/libc/elf_tables.h"
#include "preload/os/libc/libc_table.h"
#include "preload/stack/object_list.h"

namespace memtrace::record {
namespace {

constexpr std::uint32_t kMaxModules = 2048;

using FindObject = int (*)(void*, dl_find_object*);
constinit FindObject finder = nullptr;
constinit const char* main_path = "";
constinit LoadedModule modules[kMaxModules] = {};
constinit std::uint32_t end = 1;
constinit std::uint32_t last_hit = 0;

// Modules by start address, so that a new frame needs no comparison of paths. The table is emptied after a
// dlclose, because another library may then have the address and the link map of an unloaded one.
struct KnownModule {
  const link_map* map;
  std::uint64_t start;
  std::uint32_t id;
};
constexpr std::uint32_t kKnown = 256;
constinit KnownModule known[kKnown] = {};
KnownModule& known_at(std::uint64_t start) {
  return known[(start * 0x9E3779B97F4A7C15u) >> 56];
}

// Reads the GNU build id note of an ELF file that is mapped at `module.start`.
void read_build_id(LoadedModule& module) {
  const auto* const base = reinterpret_cast<const char*>(module.start);
  const auto* const elf = reinterpret_cast<const ElfW(Ehdr)*>(base);
  if (std::memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 || elf->e_phentsize != sizeof(ElfW(Phdr))) return;
  const auto* const headers = reinterpret_cast<const ElfW(Phdr)*>(base + elf->e_phoff);
  const std::uint64_t bytes = module.end - module.start;
  if (elf->e_phoff + elf->e_phnum * sizeof(ElfW(Phdr)) > 4096) return;
  for (unsigned i = 0; i < elf->e_phnum; ++i) {
    const auto& header = headers[i];
    if (header.p_type != PT_NOTE || header.p_vaddr + header.p_memsz > bytes) continue;
    const auto* at = reinterpret_cast<const char*>(module.bias + header.p_vaddr);
    const char* const stop = at + header.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= stop) {
      const auto* const note = reinterpret_cast<const ElfW(Nhdr)*>(at);
      const char* const name = at + sizeof *note;
      const char* const value = name + ((note->n_namesz + 3) & ~3u);
      if (value + note->n_descsz > stop) break;
      if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
        const std::size_t n = note->n_descsz < sizeof module.build_id ? note->n_descsz : sizeof module.build_id;
        std::memcpy(module.build_id, value, n);
        module.build_id_bytes = static_cast<std::uint8_t>(n);
        return;
      }
      at = value + ((note->n_descsz + 3) & ~3u);
    }
  }
}

} // namespace

void find_modules_by(const char* executable) {
  main_path = executable;
  finder = reinterpret_cast<FindObject>(function_from(first_object(), "_dl_find_object"));
  if (finder != nullptr) return;
  libc.dlerror(); // clears the error, so that the program does not find it
  finder = find_listed_object;
}

bool modules_can_be_found() {
  return finder != nullptr;
}

bool find_object(std::uint64_t address, dl_find_object* out) {
  return finder != nullptr && finder(reinterpret_cast<void*>(address), out) == 0;
}

namespace {

std::uint32_t find_by_path(const dl_find_object& object, bool* added,
                           format::TextId (*intern)(const char* text, std::size_t bytes)) {
  const auto start = reinterpret_cast<std::uint64_t>(object.dlfo_map_start);
  const char* name = object.dlfo_link_map->l_name;
  if (name == nullptr || *name == '\0') name = main_path;
  const format::TextId path = intern(name, std::strlen(name));
  const auto same = [&](const LoadedModule& module) { return module.start == start && module.path == path; };
  if (same(modules[last_hit])) return last_hit;
  for (std::uint32_t id = 1; id < end; ++id)
    if (same(modules[id])) return last_hit = id;
  if (end == kMaxModules) return 0;
  LoadedModule& module = modules[end];
  module.start = start;
  module.end = reinterpret_cast<std::uint64_t>(object.dlfo_map_end);
  module.bias = object.dlfo_link_map->l_addr;
  module.path = path;
  read_build_id(module);
  *added = true;
  return last_hit = end++;
}

} // namespace

std::uint32_t find_module(std::uint64_t address, bool* added,
                          format::TextId (*intern)(const char* text, std::size_t bytes)) {
  dl_find_object object{};
  if (!find_object(address, &object)) return 0;
  const auto start = reinterpret_cast<std::uint64_t>(object.dlfo_map_start);
  KnownModule& seen = known_at(start);
  if (__atomic_load_n(&seen.map, __ATOMIC_RELAXED) == object.dlfo_link_map && seen.start == start)
    return seen.id;
  const std::uint32_t id = find_by_path(object, added, intern);
  if (id != 0) seen = {object.dlfo_link_map, start, id};
  return id;
}

bool some_module_is_gone() {
  for (KnownModule& each : known) __atomic_store_n(&each.map, nullptr, __ATOMIC_RELAXED);
  for (std::uint32_t id = 1; id < __atomic_load_n(&end, __ATOMIC_ACQUIRE); ++id) {
    dl_find_object object{};
    if (!find_object(modules[id].start, &object) ||
        reinterpret_cast<std::uint64_t>(object.dlfo_map_start) != modules[id].start)
      return true;
  }
  return false;
}

const LoadedModule& module_at(std::uint32_t id) {
  return modules[id];
}
std::uint32_t modules_end() {
  return end;
}

} // namespace memtrace::record
