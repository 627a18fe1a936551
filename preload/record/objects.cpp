// Room: hooks. In the constructor, or before it.
// Job: the symbols of loaded objects, read from their own tables: where dlsym itself is looked for, or hidden
// from.
#include "hooks/objects.h"

#include <dlfcn.h>

#include <cstring>

#include "record/forbidden.h"

namespace memtrace::hooks {

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

link_map* own_object() {
  Dl_info info{};
  link_map* self = nullptr;
  if (dladdr1(reinterpret_cast<const void*>(&own_object), &info, reinterpret_cast<void**>(&self),
              RTLD_DL_LINKMAP) == 0)
    return nullptr;
  return self;
}

void* next_function(const char* name) {
  const link_map* const self = own_object();
  for (const link_map* map = self != nullptr ? self->l_next : nullptr; map != nullptr; map = map->l_next) {
    const Dynamic object(map);
    if (!object.complete() || reinterpret_cast<std::uintptr_t>(object.symbols) < map->l_addr) continue;
    void* found = nullptr;
    object.each_defined([&](const ElfW(Sym) & symbol) {
      if (symbol.st_value != 0 && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
          std::strcmp(object.names + symbol.st_name, name) == 0)
        found = reinterpret_cast<void*>(map->l_addr + symbol.st_value);
    });
    if (found != nullptr) return found;
  }
  return nullptr;
}

} // namespace memtrace::hooks
