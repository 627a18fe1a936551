// Purpose: the contents of mappings without a name: zeroed data of libraries, glibc's heaps, stacks of threads.
// The kernel merges them with their neighbours.
// Runs: on the background thread.
#include "preload/rss/heap_and_stack_bounds.h"

#include <link.h>
#include <sys/resource.h>

#include <cstring>

#include "preload/format/file_headers.h"
#include "preload/os/mappings.h"
#include "preload/os/threads.h"
#include "preload/record/thread_list.h"
#include "preload/stack/loaded_modules.h"

namespace memtrace::record {
namespace {

using format::kPage;

constexpr std::uint64_t kArenaStep = 64 << 20;       // glibc's additional heaps begin at multiples of this
constexpr std::uint64_t kAboveThreadPointer = 0x900; // glibc's struct pthread, at the top of the stack
constexpr std::size_t kThreadAlign = 64;

std::uint64_t pages_up(std::uint64_t bytes) {
  return (bytes + kPage - 1) & ~(kPage - 1);
}

// Copies the bytes and returns true if all of their pages are resident; otherwise returns false. A read of a
// missing page would create it, as a page of zeros.
bool copy(std::uint64_t start, void* out, std::size_t bytes) {
  const std::uint64_t first = start & ~(kPage - 1), last = (start + bytes - 1) & ~(kPage - 1);
  std::uint8_t there[2] = {};
  if (last - first > kPage || os::pages_in_memory(first, last - first + kPage, there) < 0) return false;
  if ((there[0] & 1) == 0 || (last != first && (there[1] & 1) == 0)) return false;
  const os::Piece piece = {reinterpret_cast<const void*>(start), bytes};
  return os::copy_memory(out, &piece, 1) == static_cast<long>(bytes);
}

// Returns the end of the heap at `start`, or 0 if none begins there. Reads struct heap_info of glibc's arena.c,
// before and since 2.35: {arena, previous, size, writable size}. A heap that shrank stays writable up to its
// highest size, but mallinfo2 counts `size` alone: glibc discards the pages behind it by MADV_DONTNEED.
std::uint64_t heap_end(std::uint64_t start) {
  std::uint64_t info[4];
  if (!copy(start, info, sizeof info)) return 0;
  const std::uint64_t in_first = info[0] % kArenaStep; // the arena lies behind the first heap's info
  const bool sound = in_first >= 32 && in_first <= 128 && (info[1] != 0 || info[0] - in_first == start) &&
                     info[2] % kPage == 0 && info[2] <= info[3] && info[3] <= kArenaStep && info[2] != 0;
  return sound ? start + info[2] : 0;
}

// True if glibc's struct pthread is in the page below `end`: it has two pointers to itself. Threads that never
// call a hook are found only by it.
bool ends_in_thread(std::uint64_t end) {
  constexpr std::size_t kTop = 2 * kAboveThreadPointer / kThreadAlign * kThreadAlign;
  constinit static std::uint64_t top[kTop / sizeof(std::uint64_t)];
  const std::uint64_t start = end - kTop;
  if (!copy(start, top, kTop)) return false;
  for (std::size_t at = 0; at + 3 * sizeof top[0] <= kTop; at += kThreadAlign) {
    const std::uint64_t* const words = top + at / sizeof top[0];
    if (words[0] == start + at && words[2] == start + at) return true;
  }
  return false;
}

} // namespace

std::uint64_t library_end(std::uint64_t address, bool* ours) {
  dl_find_object object{};
  if (!find_object(address, &object)) return 0;
  *ours = object.dlfo_link_map->l_name != nullptr &&
          std::strstr(object.dlfo_link_map->l_name, "libmemtrace") != nullptr;
  return pages_up(reinterpret_cast<std::uint64_t>(object.dlfo_map_end));
}

AddressBounds heap_within(const Mapping& one, std::uint64_t start, std::uint64_t end) {
  if (std::strcmp(one.path, "[heap]") == 0) return {one.start, one.end};
  AddressBounds out;
  for (std::uint64_t at = (start + kArenaStep - 1) & ~(kArenaStep - 1); at < end; at += kArenaStep) {
    const std::uint64_t heap = heap_end(at);
    if (heap == 0) continue;
    out = {at, heap < one.end ? heap : one.end};
  }
  return out;
}

AddressBounds stack_within(const Mapping& one, const AddressBounds& guard) {
  if (const std::uint64_t pointer = thread_within(one.start, one.end); pointer != 0)
    return {one.start, pages_up(pointer + kAboveThreadPointer)};
  if (guard.end != one.start) return {};
  const std::uint64_t usual = guard.start + os::resource_limit(RLIMIT_STACK);
  if (usual > one.start && usual < one.end && ends_in_thread(usual)) return {one.start, usual};
  return ends_in_thread(one.end) ? AddressBounds{one.start, one.end} : AddressBounds{};
}

} // namespace memtrace::record
