// Purpose: this library's place in the list of loaded objects, and the definitions after it.
// Runs: in the constructor, or before it.
#include "preload/hooks/symbols/loaded_objects.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::hooks {

const link_map* own_object() {
  const ElfW(Dyn) * dynamic;
  asm("leaq _DYNAMIC(%%rip), %0" : "=r"(dynamic));
  for (const link_map* map = record::first_object(); map != nullptr; map = map->l_next)
    if (map->l_ld == dynamic) return map;
  return nullptr;
}

void* next_function(const char* name) {
  const link_map* const self = own_object();
  return self != nullptr ? record::function_from(self->l_next, name) : nullptr;
}

void* next_plain_function(const char* name) {
  const link_map* const self = own_object();
  return self != nullptr ? record::plain_function_from(self->l_next, name) : nullptr;
}

} // namespace memtrace::hooks
