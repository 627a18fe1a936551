// Room: record. Opened in the constructor, called inside the victim's malloc.
// Job: libunwind, opened and never linked, and kept from everything that a hook may not do.
//
// libunwind 1.6 asks dl_iterate_phdr for the module of an address, which takes the loader's lock: a thread in
// dlopen that waits for one in malloc would hang (memray#662), and so would a child forked meanwhile (5 of 6
// did). It also keeps a pipe open for good, to test addresses with: the program's next descriptor would be 5.
// Both go through its own table of imports, in a copy of the library that nobody else need have: we point those
// entries at functions here.
#include "record/unwinder.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <sys/syscall.h>

#include <cstdint>
#include <cstring>

#include "record/line.h"
#include "record/modules.h"
#include "record/os.h"

namespace memtrace::record {
namespace {

using Backtrace = int (*)(void** out, int capacity);
using Iterate = int (*)(dl_phdr_info* info, std::size_t bytes, void* data);

constinit Backtrace backtrace = nullptr;
// The slow walk, frame by frame.
struct Walk {
  void (*flush)(void* space, unsigned long from, unsigned long to) = nullptr;
  int (*context)(void* context) = nullptr;
  int (*init)(void* cursor, void* context) = nullptr;
  int (*step)(void* cursor) = nullptr;
  int (*get)(void* cursor, int which, unsigned long* value) = nullptr;
};
constinit Walk walk{};
constinit bool careful = false;
constinit void* address_space = nullptr;
constinit bool asked = false; // our stand-in for dl_iterate_phdr has served

// libunwind's search begins with the address it is for (struct dwarf_callback_data); the warm-up below checks
// that.
int module_of_address(Iterate callback, void* data) {
  std::uint64_t address;
  std::memcpy(&address, data, sizeof address);
  dl_find_object object{};
  if (!find_object(address, &object)) return 0;
  const auto* const base = static_cast<const char*>(object.dlfo_map_start);
  const auto* const elf = reinterpret_cast<const ElfW(Ehdr)*>(base);
  if (std::memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0) return 0;
  asked = true;
  dl_phdr_info info{};
  info.dlpi_addr = object.dlfo_link_map->l_addr;
  info.dlpi_name = object.dlfo_link_map->l_name;
  info.dlpi_phdr = reinterpret_cast<const ElfW(Phdr)*>(base + elf->e_phoff);
  info.dlpi_phnum = elf->e_phnum;
  return callback(&info, sizeof info, data);
}

int no_pipe(int* ends, int) {
  ends[0] = ends[1] = -1;
  return 0;
}
ssize_t read_nothing(int, void*, std::size_t) {
  return 1;
}
// libunwind writes one byte from an address to learn whether it can be read.
ssize_t test_address(int, const void* address, std::size_t) {
  if (os::is_readable(address)) return 1;
  errno = EFAULT;
  return -1;
}
// The same by another road; libunwind makes no other call this way.
long test_by_syscall(long number, long, const void* address) {
  return number == SYS_write ? test_address(-1, address, 1) : -1;
}
int close_nothing(int) {
  return 0;
}
int open_nothing(const char*, int, ...) { // it would look for debug files
  errno = ENOENT;
  return -1;
}

template <class F>
void find(void* library, const char* name, F* out) {
  if (void* const p = dlsym(library, name); p != nullptr) std::memcpy(out, &p, sizeof p);
}

struct StandIn {
  const char* name;
  void* function;
};

void redirect_imports(const link_map* library) {
  const StandIn stand_ins[] = {
      {"dl_iterate_phdr", reinterpret_cast<void*>(&module_of_address)},
      {"pipe2", reinterpret_cast<void*>(&no_pipe)},
      {"read", reinterpret_cast<void*>(&read_nothing)},
      {"write", reinterpret_cast<void*>(&test_address)},
      {"syscall", reinterpret_cast<void*>(&test_by_syscall)},
      {"close", reinterpret_cast<void*>(&close_nothing)},
      {"open", reinterpret_cast<void*>(&open_nothing)},
  };
  const ElfW(Rela)* relocations = nullptr;
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  std::size_t bytes = 0;
  for (const ElfW(Dyn)* entry = library->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_JMPREL) relocations = reinterpret_cast<const ElfW(Rela)*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_PLTRELSZ) bytes = entry->d_un.d_val;
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  }
  if (relocations == nullptr || symbols == nullptr || names == nullptr) return;
  for (std::size_t i = 0; i < bytes / sizeof *relocations; ++i) {
    const char* const name = names + symbols[ELF64_R_SYM(relocations[i].r_info)].st_name;
    auto* const entry = reinterpret_cast<void**>(library->l_addr + relocations[i].r_offset);
    for (const StandIn& stand_in : stand_ins)
      if (std::strcmp(name, stand_in.name) == 0 && os::make_writable(entry, sizeof *entry))
        *entry = stand_in.function;
  }
}

// Beside this library it is a copy of our own. The system's may be used by the program as well, which then gets
// the same answers: addresses are tested without a pipe, modules are found without a lock.
void* open_library() {
  Dl_info self{};
  Path path;
  if (dladdr(reinterpret_cast<const void*>(&open_unwinder), &self) != 0 && self.dli_fname != nullptr) {
    const char* const slash = std::strrchr(self.dli_fname, '/');
    if (slash != nullptr) path.add(self.dli_fname, static_cast<std::size_t>(slash + 1 - self.dli_fname));
  }
  path.add("memtrace/libunwind.so.8");
  void* const carried = os::exists(path.text()) ? dlopen(path.text(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  return carried != nullptr ? carried : dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
}

} // namespace

bool open_unwinder() {
  if (!modules_can_be_found()) return false;
  void* const library = open_library();
  if (library == nullptr) {
    dlerror(); // nothing is left for the program to find
    return false;
  }
  const auto found = reinterpret_cast<Backtrace>(dlsym(library, "unw_backtrace"));
  const auto policy = reinterpret_cast<int (*)(void*, int)>(dlsym(library, "_ULx86_64_set_caching_policy"));
  auto* const space = static_cast<void**>(dlsym(library, "_ULx86_64_local_addr_space"));
  if (found == nullptr || policy == nullptr || space == nullptr) {
    dlerror();
    return false;
  }
  find(library, "_Ux86_64_flush_cache", &walk.flush);
  find(library, "_Ux86_64_getcontext", &walk.context);
  find(library, "_ULx86_64_init_local", &walk.init);
  find(library, "_ULx86_64_step", &walk.step);
  find(library, "_ULx86_64_get_reg", &walk.get);
  address_space = *space;
  redirect_imports(static_cast<const link_map*>(library)); // glibc's handles are link maps
  constexpr int kPerThread = 2;                            // UNW_CACHE_PER_THREAD: no lock, no sigprocmask
  policy(*space, kPerThread);
  void* warm[8];
  if (found(warm, 8) < 2 || !asked) return false; // another libunwind than we know: better no native frames
  backtrace = found;
  return true;
}

void code_was_unloaded() {
  if (backtrace == nullptr || !some_module_is_gone()) return;
  __atomic_store_n(&careful, true, __ATOMIC_RELEASE);
  if (walk.flush != nullptr) walk.flush(address_space, 0, 0);
}

namespace {

std::size_t unwind_carefully(void** out, std::size_t capacity) {
  if (walk.flush == nullptr || walk.context == nullptr || walk.init == nullptr || walk.step == nullptr ||
      walk.get == nullptr)
    return 0;
  constexpr int kInstruction = 16;                     // UNW_X86_64_RIP
  alignas(16) char context[1024], cursor[127 * 8 + 8]; // unw_context_t is ucontext_t, unw_cursor_t 127 words
  if (walk.context(context) != 0 || walk.init(cursor, context) != 0) return 0;
  std::size_t count = 0;
  do {
    unsigned long address = 0;
    if (walk.get(cursor, kInstruction, &address) != 0 || address == 0) break;
    out[count++] = reinterpret_cast<void*>(address);
  } while (count < capacity && walk.step(cursor) > 0);
  return count;
}

} // namespace

std::size_t unwind(void** out, std::size_t capacity) {
  if (__atomic_load_n(&careful, __ATOMIC_ACQUIRE)) return unwind_carefully(out, capacity);
  const int count = backtrace == nullptr ? 0 : backtrace(out, static_cast<int>(capacity));
  return count > 0 ? static_cast<std::size_t>(count) : 0;
}

} // namespace memtrace::record
