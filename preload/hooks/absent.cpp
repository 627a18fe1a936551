// Room: hooks. In the constructor.
// Job: names that we export and nothing below us has look missing, as they are without us.
#include "hooks/absent.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "record/os.h"

#include "record/forbidden.h"

namespace memtrace::hooks {
namespace {

namespace os = record::os;

constexpr const char* kCuda[] = {"cudaMalloc", "cudaFree", "cudaHostAlloc", "cudaMallocHost", "cudaFreeHost"};
// Of C23 and of old: in no glibc yet, or no more.
constexpr const char* kHeap[] = {"free_sized", "free_aligned_sized", "cfree"};
constexpr std::size_t kMost = sizeof kCuda / sizeof *kCuda + sizeof kHeap / sizeof *kHeap;

struct Names {
  const char* list[kMost];
  std::size_t count = 0;

  void add(const char* name) { list[count++] = name; }
  bool has(const char* name) const {
    if (*name != 'c' && *name != 'f') return false;
    for (std::size_t i = 0; i < count; ++i)
      if (std::strcmp(name, list[i]) == 0) return true;
    return false;
  }
};

bool cuda_is_there() {
  for (const char* path : {"/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg", "/dev/nvhost-ctrl"})
    if (os::exists(path)) return true;
  for (const char* soname : {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcuda.so.1"}) {
    void* const library = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    dlclose(library);
    return true;
  }
  dlerror();
  return false;
}

// The parts of an object's dynamic section that a look-up needs. glibc has relocated the pointers, but the
// vDSO's.
struct Dynamic {
  ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const std::uint32_t* hash = nullptr; // DT_GNU_HASH: buckets, first hashed symbol, ...
  const ElfW(Rela) * tables[2] = {};
  std::size_t bytes[2] = {};

  explicit Dynamic(const link_map* object) {
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
  bool complete() const { return symbols != nullptr && names != nullptr && hash != nullptr; }
  // Undefined symbols come first: the hash table begins behind them.
  std::uint32_t undefined_end() const { return hash[1]; }
};

// A symbol without a value is passed over by the loader.
void hide_own(const link_map* self, const Names& names) {
  const Dynamic own(self);
  if (!own.complete()) return;
  const std::uint32_t buckets = own.hash[0], first = own.hash[1], bloom = own.hash[2];
  const std::uint32_t* const bucket = own.hash + 4 + bloom * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
  const std::uint32_t* const chain = bucket + buckets;
  for (std::uint32_t b = 0; b < buckets; ++b) {
    for (std::uint32_t i = bucket[b]; i >= first; ++i) {
      ElfW(Sym)& symbol = own.symbols[i];
      if (names.has(own.names + symbol.st_name) && os::make_writable(&symbol, sizeof symbol)) {
        symbol.st_value = 0;
        symbol.st_shndx = SHN_UNDEF;
      }
      if (chain[i - first] & 1) break;
    }
  }
}

bool refers_weakly(const Dynamic& object, const Names& names) {
  for (std::uint32_t i = 1; i < object.undefined_end(); ++i)
    if (ELF64_ST_BIND(object.symbols[i].st_info) == STB_WEAK &&
        names.has(object.names + object.symbols[i].st_name))
      return true;
  return false;
}

// Slots that the loader filled with our functions while it bound this object go back to null.
void clear_weak_references(const link_map* map, const Names& names) {
  const Dynamic object(map);
  if (!object.complete() || reinterpret_cast<std::uintptr_t>(object.symbols) < map->l_addr ||
      !refers_weakly(object, names))
    return;
  for (int table = 0; table < 2; ++table) {
    for (std::size_t i = 0; i < object.bytes[table] / sizeof(ElfW(Rela)); ++i) {
      const ElfW(Rela)& relocation = object.tables[table][i];
      const auto& symbol = object.symbols[ELF64_R_SYM(relocation.r_info)];
      if (ELF64_R_SYM(relocation.r_info) == 0 || ELF64_ST_BIND(symbol.st_info) != STB_WEAK ||
          !names.has(object.names + symbol.st_name))
        continue;
      auto* const slot = reinterpret_cast<void**>(map->l_addr + relocation.r_offset);
      if (os::make_writable(slot, sizeof *slot)) *slot = nullptr;
    }
  }
}

} // namespace

void hide_absent(bool cuda_expected) {
  Names names;
  for (const char* name : kHeap)
    if (dlsym(RTLD_NEXT, name) == nullptr) names.add(name);
  if (!cuda_expected && !cuda_is_there())
    for (const char* name : kCuda) names.add(name);
  dlerror(); // nothing is left for the program to find
  Dl_info info{};
  link_map* self = nullptr;
  if (dladdr1(reinterpret_cast<const void*>(&hide_absent), &info, reinterpret_cast<void**>(&self),
              RTLD_DL_LINKMAP) == 0 ||
      self == nullptr)
    return;
  hide_own(self, names);
  const link_map* first = self;
  while (first->l_prev != nullptr) first = first->l_prev;
  for (const link_map* map = first; map != nullptr; map = map->l_next)
    if (map != self) clear_weak_references(map, names);
}

} // namespace memtrace::hooks
