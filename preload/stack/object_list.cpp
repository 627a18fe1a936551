// Purpose: finds the library that contains an address where glibc has no _dl_find_object (before 2.35).
// Runs: inside the program's malloc, but only at first sight of an address.
#include "preload/stack/object_list.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <cstdint>
#include <cstring>

#include "preload/bounded/fork_locks.h"
#include "preload/bounded/spin_lock.h"
#include "preload/os/libc/elf_tables.h"
#include "preload/os/mappings.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::record {
namespace {

constexpr std::uint32_t kMostObjects = 2048;
constexpr std::uint16_t kMostHeaders = 64;

// The part of a link_map that does not change while its object is loaded, and the next object.
struct LinkedObject {
  ElfW(Addr) bias;
  const char* name;
  const ElfW(Dyn) * dynamic;
  const link_map* next;
};
static_assert(sizeof(LinkedObject) == offsetof(link_map, l_prev));

struct ListedObject {
  const link_map* map;
  LinkedObject entry;
  ObjectRange range;
};

constinit SpinLock objects_lock;
REGISTER_LOCK(objects_lock, nullptr);
// All below are guarded by objects_lock.
constinit ListedObject objects[kMostObjects] = {};
constinit std::uint32_t object_count = 0;
constinit ElfW(Phdr) headers[kMostHeaders] = {};

bool copy_from(const void* address, void* out, std::size_t bytes) {
  const os::Piece piece{address, bytes};
  return os::copy_memory(out, &piece, 1) == static_cast<long>(bytes);
}

bool is_same(const LinkedObject& a, const LinkedObject& b) {
  return a.bias == b.bias && a.name == b.name && a.dynamic == b.dynamic;
}

// Copies the program headers of an object to `headers`. Returns their number; 0 if they cannot be read. Only
// the kernel knows where those of the executable are.
std::size_t read_headers(const ListedObject& object, bool is_executable) {
  const void* from = reinterpret_cast<const void*>(getauxval(AT_PHDR));
  std::size_t count = getauxval(AT_PHNUM);
  if (!is_executable) {
    ElfW(Ehdr) elf;
    if (!copy_from(reinterpret_cast<const void*>(object.entry.bias), &elf, sizeof elf) ||
        std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_phentsize != sizeof *headers)
      return 0;
    from = reinterpret_cast<const void*>(object.entry.bias + elf.e_phoff);
    count = elf.e_phnum;
  }
  return count <= kMostHeaders && copy_from(from, headers, count * sizeof *headers) ? count : 0;
}

void read_list() {
  object_count = 0;
  const link_map* map = first_object();
  while (map != nullptr && object_count < kMostObjects) {
    ListedObject& object = objects[object_count];
    object.map = map;
    if (!copy_from(map, &object.entry, sizeof object.entry)) return;
    object.range = object_range(object.entry.bias, headers, read_headers(object, object_count == 0));
    ++object_count;
    map = object.entry.next;
  }
}

// True if an object was loaded or unloaded since the list was read. The loader appends to the list.
bool list_has_changed() {
  if (object_count == 0) return true;
  const ListedObject& last = objects[object_count - 1];
  LinkedObject now;
  return !copy_from(last.map, &now, sizeof now) || !is_same(now, last.entry) || now.next != nullptr;
}

// Returns null if no object contains the address.
const ListedObject* containing(std::uintptr_t address) {
  for (std::uint32_t i = 0; i < object_count; ++i)
    if (address - objects[i].range.start < objects[i].range.end - objects[i].range.start) return &objects[i];
  return nullptr;
}

bool is_loaded(const ListedObject& object) {
  LinkedObject now;
  return copy_from(object.map, &now, sizeof now) && is_same(now, object.entry);
}

} // namespace

int find_listed_object(void* address, dl_find_object* out) {
  const Locked lock(objects_lock);
  if (!lock) return -1;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const ListedObject* found = containing(at);
  if (found != nullptr ? !is_loaded(*found) : list_has_changed()) {
    read_list();
    found = containing(at);
  }
  if (found == nullptr) return -1;
  out->dlfo_map_start = reinterpret_cast<void*>(found->range.start);
  out->dlfo_map_end = reinterpret_cast<void*>(found->range.end);
  out->dlfo_link_map = const_cast<link_map*>(found->map);
  out->dlfo_eh_frame = reinterpret_cast<void*>(found->range.eh_frame_header);
  return 0;
}

} // namespace memtrace::record
