// Purpose: hides each name that memtrace exports and no other library defines.
// Runs: in the constructor.
#include "preload/hooks/absent_symbols.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "preload/hooks/cuda/function_table.h"
#include "preload/hooks/symbols/loaded_objects.h"
#include "preload/os/libc/libc_table.h"
#include "preload/os/mappings.h"
#include "preload/os/paths.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::hooks {
namespace {

namespace os = record::os;

// Names that some versions of glibc do not define: free_sized and free_aligned_sized are of C23, cfree was
// removed, execveat came with 2.34. Before 2.34, the dl functions are in libdl and pthread_create is in
// libpthread, which not every program loads.
constexpr const char* kNotAlways[] = {
    "free_sized", "free_aligned_sized", "cfree", "execveat", "dlsym", "dlvsym", "dlclose", "pthread_create"};
constexpr std::size_t kMost = sizeof kNotAlways / sizeof *kNotAlways;

struct Names {
  bool cuda = false;
  const char* absent[kMost] = {};
  std::size_t count = 0;

  void add(const char* name) { absent[count++] = name; }
  // `own`: of memtrace's names, those of CUDA and no others begin with "cu".
  bool has(const char* name, bool own = false) const {
    if (*name < 'c' || *name > 'p') return false; // as all of them
    if (cuda && name[0] == 'c' && name[1] == 'u') return own || cuda::named(name) != nullptr;
    for (std::size_t i = 0; i < count; ++i)
      if (std::strcmp(name, absent[i]) == 0) return true;
    return false;
  }
};

// True if the object is not memtrace, and its tables can be read: the vDSO's cannot.
bool is_other(const link_map* map, const Dynamic& object, const link_map* self) {
  return map != self && object.complete() && reinterpret_cast<std::uintptr_t>(object.symbols) >= map->l_addr;
}

// The loader skips a symbol that is undefined.
void hide_own(const link_map* self, const Names& names) {
  const Dynamic own(self);
  if (!own.complete()) return;
  const ElfW(Sym)* end = own.symbols;
  own.each_defined([&](const ElfW(Sym) & symbol) {
    if (&symbol >= end) end = &symbol + 1;
  });
  if (!os::make_writable(own.symbols, static_cast<std::size_t>(end - own.symbols) * sizeof *end)) return;
  own.each_defined([&](ElfW(Sym) & symbol) {
    if (!names.has(own.names + symbol.st_name, true)) return;
    symbol.st_value = 0;
    symbol.st_shndx = SHN_UNDEF;
  });
}

bool refers_weakly(const Dynamic& object, const Names& names) {
  for (std::uint32_t i = 1; i < object.undefined_end(); ++i) {
    if (ELF64_ST_BIND(object.symbols[i].st_info) != STB_WEAK || object.symbols[i].st_shndx != SHN_UNDEF)
      continue;
    const char* const name = object.names + object.symbols[i].st_name;
    const bool may_be_cuda = name[0] == 'c' && name[1] == 'u';
    if (names.has(name) || (may_be_cuda && cuda::named(name) != nullptr)) return true;
  }
  return false;
}

// True if a slot is bound to memtrace's hook of a CUDA function whose real function is not loaded. The name
// stays exported, since a library that defines it may be opened later. Until then the slot must be null.
bool is_ours_alone(const char* name, void* bound) {
  const cuda::Hooked* const function = cuda::hidden() ? nullptr : cuda::named(name);
  return function != nullptr && bound == cuda::hook_of(*function) && cuda::real_of(*function) == nullptr;
}

// Sets those slots to null that the loader filled with memtrace's functions while it bound this object.
void clear_weak_references(const link_map* map, const Dynamic& object, const Names& names) {
  for (int table = 0; table < 2; ++table) {
    for (std::size_t i = 0; i < object.bytes[table] / sizeof(ElfW(Rela)); ++i) {
      const ElfW(Rela)& relocation = object.tables[table][i];
      const auto& symbol = object.symbols[ELF64_R_SYM(relocation.r_info)];
      if (ELF64_R_SYM(relocation.r_info) == 0 || ELF64_ST_BIND(symbol.st_info) != STB_WEAK) continue;
      const char* const name = object.names + symbol.st_name;
      auto* const slot = reinterpret_cast<void**>(map->l_addr + relocation.r_offset);
      if (!names.has(name) && !is_ours_alone(name, *slot)) continue;
      if (os::make_writable(slot, sizeof *slot)) *slot = nullptr;
    }
  }
}

} // namespace

namespace {

bool is_cuda(const char* library) {
  if (std::strncmp(library, "libcuda", 7) != 0) return false;
  for (const char* soname : {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcuda.so.1"})
    if (std::strcmp(library, soname) == 0) return true;
  return false;
}

} // namespace

// Not by dlopen with RTLD_NOLOAD. The loader then searches all its folders for each name that is not loaded:
// 130 system calls.
bool cuda_is_loaded() {
  for (const link_map* map = record::first_object(); map != nullptr; map = map->l_next)
    if (is_cuda(record::file_name(map)) || is_cuda(record::soname(map))) return true;
  return false;
}

bool cuda_is_there() {
  for (const char* path : {"/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg", "/dev/nvhost-ctrl"})
    if (os::exists(path)) return true;
  return cuda_is_loaded();
}

void hide_absent(bool cuda) {
  Names names;
  for (const char* name : kNotAlways)
    if (next_function(name) == nullptr) names.add(name);
  names.cuda = !cuda;
  if (names.cuda) cuda::hide();
  record::libc.dlerror(); // clears the error, so that the program does not find it
  const link_map* const self = own_object();
  if (self == nullptr) return;
  hide_own(self, names);
  for (const link_map* map = record::first_object(); map != nullptr; map = map->l_next)
    if (const Dynamic object(map); is_other(map, object, self) && refers_weakly(object, names))
      clear_weak_references(map, object, names);
}

bool has_weak_references_to_absent() {
  Names names;
  for (const char* name : kNotAlways) names.add(name);
  names.cuda = true;
  const link_map* const self = own_object();
  for (const link_map* map = record::first_object(); map != nullptr; map = map->l_next)
    if (const Dynamic object(map); is_other(map, object, self) && refers_weakly(object, names)) return true;
  return false;
}

} // namespace memtrace::hooks
