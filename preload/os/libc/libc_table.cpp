// Purpose: the functions of libc that a sanitizer's runtime replaces, found in libc's own symbol table.
// Runs: on any thread, also before any constructor.
#include "preload/os/libc/libc_table.h"

#include <cstring>

#include "preload/os/gate/raw_call.h"
#include "preload/os/libc/elf_tables.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::record {
namespace {

void find();

// If libc is not found, clock_gettime is the system call, and the other functions fail. Before glibc 2.34, the
// dl functions are in libdl, which a program such as `true` does not load. It can load no library either:
// dlopen fails, and dladdr answers from the list of objects.
int first_clock_gettime(clockid_t clock, timespec* out) {
  find();
  return libc.clock_gettime != first_clock_gettime
             ? libc.clock_gettime(clock, out)
             : static_cast<int>(os::call(SYS_clock_gettime, clock, os::word(out)));
}
void* first_dlopen(const char* name, int flags) {
  find();
  return libc.dlopen != first_dlopen ? libc.dlopen(name, flags) : nullptr;
}
char* first_dlerror() {
  find();
  return libc.dlerror != first_dlerror ? libc.dlerror() : nullptr;
}
int first_dladdr(const void* address, Dl_info* out) {
  find();
  if (libc.dladdr != first_dladdr) return libc.dladdr(address, out);
  std::uintptr_t start = 0;
  const link_map* const object = object_at(address, &start);
  if (object == nullptr) return 0;
  *out = {object->l_name, reinterpret_cast<void*>(start), nullptr, nullptr};
  return 1;
}
int first_on_exit(void (*call)(int, void*), void* argument) {
  find();
  return libc.on_exit != first_on_exit ? libc.on_exit(call, argument) : -1;
}

bool is_file(const link_map* map, const char* name) {
  return std::strcmp(file_name(map), name) == 0;
}

template <class F>
void take(const Dynamic& object, const link_map* map, const char* name, Found<F>* out) {
  if (void* const found = object.function(map->l_addr, name); found != nullptr)
    __atomic_store_n(&out->function, reinterpret_cast<F*>(found), __ATOMIC_RELAXED);
}

void find() {
  for (const link_map* map = first_object(); map != nullptr; map = map->l_next) {
    if (!is_file(map, "libc.so.6") && !is_file(map, "libdl.so.2")) continue;
    const Dynamic object(map);
    if (!object.complete()) continue;
    take(object, map, "clock_gettime", &libc.clock_gettime);
    take(object, map, "dlopen", &libc.dlopen);
    take(object, map, "dlerror", &libc.dlerror);
    take(object, map, "dladdr", &libc.dladdr);
    take(object, map, "on_exit", &libc.on_exit);
  }
}

} // namespace

const link_map* libc_object() {
  const link_map* map = first_object();
  while (map != nullptr && !is_file(map, "libc.so.6")) map = map->l_next;
  return map;
}

constinit Libc libc = {{first_clock_gettime}, {first_dlopen}, {first_dlerror}, {first_dladdr}, {first_on_exit}};

} // namespace memtrace::record
