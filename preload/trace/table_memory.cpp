// Purpose: the memory of the rollup's tables.
// Runs: in the drain and, when its ring is full, on the program's thread.
#include "preload/trace/table_memory.h"

#include <sys/mman.h>

#include <cstring>

#include "preload/os/mappings.h"

namespace memtrace::record {

namespace {

// Lookups in a table of live blocks are random, and walking the page tables took longer than the rest of a
// lookup. 1 MiB: the largest table of young blocks has 1.5 MiB. Since Linux 6.7, a mapping begins where a huge
// page does if its length is a multiple of theirs.
constexpr std::size_t kHugeFrom = 1 << 20;
constexpr std::size_t kHugePage = 2 << 20;

std::size_t mapped_bytes(std::size_t bytes) {
  return bytes < kHugeFrom ? bytes : (bytes + kHugePage - 1) / kHugePage * kHugePage;
}

} // namespace

void* map_table(std::size_t bytes) {
  void* const memory = os::map_private(mapped_bytes(bytes));
  if (memory == nullptr) return nullptr;
  os::advise(memory, mapped_bytes(bytes), MADV_DONTFORK); // a forked child makes its own
  if (bytes >= kHugeFrom) os::advise(memory, mapped_bytes(bytes), MADV_HUGEPAGE);
  return memory;
}

void* extend_table(void* memory, std::size_t bytes, std::size_t wanted) {
  // The small pages of the table may lie where no huge page fits.
  if (bytes < kHugeFrom && wanted >= kHugeFrom) {
    void* const larger = map_table(wanted);
    if (larger == nullptr) return nullptr;
    std::memcpy(larger, memory, bytes);
    os::unmap(memory, bytes);
    return larger;
  }
  void* const extended = os::extend(memory, mapped_bytes(bytes), mapped_bytes(wanted));
  if (extended != nullptr && wanted >= kHugeFrom) os::advise(extended, mapped_bytes(wanted), MADV_HUGEPAGE);
  return extended;
}

} // namespace memtrace::record
