// Purpose: measures how full the arenas are in which CPython keeps its small objects.
// Runs: in the constructor, and on the background thread.
#include "preload/allocator/pymalloc_arenas.h"

#include "preload/format/file_headers.h"
#include "preload/os/clocks.h"
#include "preload/os/mappings.h"

namespace memtrace::record {
namespace {

using format::kPage;

constexpr std::uint64_t kMapperBytes = 256; // its code is shorter: a call of mmap and a comparison
constexpr std::uint64_t kSmallArena = 256 * 1024;
constexpr std::uint64_t kSmallPool = 4 * 1024;  // before CPython 3.10
constexpr std::uint64_t kLargePool = 16 * 1024; // in arenas of 1 MiB
constexpr std::uint64_t kPoolHeader = 48;
constexpr std::uint32_t kStep = 16; // between block sizes
constexpr std::uint32_t kSizes = 32;
constexpr std::size_t kAtOnce = 64; // an arena of either kind has 64 pools

// struct pool_header of obmalloc.c, unchanged from 3.3 to 3.14.
struct PymallocPool {
  std::uint32_t blocks; // in use
  std::uint32_t reserved;
  std::uint64_t free_block;
  std::uint64_t next;
  std::uint64_t before;
  std::uint32_t arena;
  std::uint32_t size; // index of the block size
};

constexpr std::size_t kLookedAt = 48;
constexpr std::uint64_t kFillNs = 500'000'000;
constexpr std::uint64_t kFillShare = 1000; // 1 part of the time

struct Arena {
  std::uint64_t address;
  std::uint64_t bytes;
};

constinit std::uint64_t mapper = 0;
constinit Arena arenas[kLookedAt] = {};
constinit ArenaFill last_fill{};
constinit std::uint64_t next_look = 0;
constinit PymallocPool pools[kAtOnce] = {};
constinit std::uint8_t there[256] = {}; // pages of an arena

// Returns false if no pool was made here yet: then there is none behind it either.
bool add_pool(const PymallocPool& pool, std::uint64_t bytes, ArenaFill* out) {
  if (pool.next == 0 && pool.blocks == 0 && pool.free_block == 0 && pool.before == 0) return false;
  const std::uint64_t each = std::uint64_t{pool.size + 1} * kStep;
  const bool sound = pool.size < kSizes && pool.blocks <= (bytes - kPoolHeader) / each;
  const std::uint64_t used = sound ? pool.blocks * each : 0;
  out->used += used;
  out->free += bytes - used;
  return true;
}

} // namespace

void python_arenas_come_from(const void* function) {
  mapper = reinterpret_cast<std::uint64_t>(function);
}

bool is_arena_mapper(const void* return_address) {
  return reinterpret_cast<std::uint64_t>(return_address) - mapper < kMapperBytes;
}

void look_at_arena(std::uint64_t address, std::uint64_t bytes, ArenaFill* out) {
  const std::uint64_t pool_bytes = bytes <= kSmallArena ? kSmallPool : kLargePool;
  const std::uint64_t first = (address + pool_bytes - 1) & ~(pool_bytes - 1);
  const std::uint64_t end = address + bytes;
  if (end - first > sizeof there * kPage || os::pages_in_memory(first, end - first, there) < 0) return;
  os::Piece pieces[kAtOnce];
  std::size_t count = 0;
  for (std::uint64_t at = first; at + pool_bytes <= end && count < kAtOnce; at += pool_bytes) {
    if ((there[(at - first) / kPage] & 1) == 0) break; // not resident: a read would make a page of zeros
    pieces[count++] = {reinterpret_cast<const void*>(at), sizeof(PymallocPool)};
  }
  if (count == 0) return;
  const long got = os::copy_memory(pools, pieces, count);
  if (got <= 0) return;
  ++out->arenas;
  const std::size_t whole = static_cast<std::size_t>(got) / sizeof(PymallocPool);
  for (std::size_t i = 0; i < whole; ++i)
    if (!add_pool(pools[i], pool_bytes, out)) return;
}

void SomeArenas::add(std::uint64_t address, std::uint64_t bytes) {
  if (seen_++ % step_ != 0) return;
  if (used_ == kLookedAt) { // keep every second one
    for (std::size_t i = 0; i < used_ / 2; ++i) arenas[i] = arenas[2 * i];
    used_ /= 2;
    step_ *= 2;
    if ((seen_ - 1) % step_ != 0) return;
  }
  arenas[used_++] = {address, bytes};
}

ArenaFill SomeArenas::look(bool* all) const {
  const std::uint64_t now = os::monotonic_ns();
  if (now >= next_look) {
    const std::uint64_t before = os::thread_cpu_ns();
    last_fill = {};
    for (std::size_t i = 0; i < used_; ++i) look_at_arena(arenas[i].address, arenas[i].bytes, &last_fill);
    const std::uint64_t pause = (os::thread_cpu_ns() - before) * kFillShare;
    next_look = now + (pause > kFillNs ? pause : kFillNs);
  }
  *all = last_fill.arenas == seen_;
  return last_fill;
}

void forget_arena_fill() {
  next_look = 0;
}

} // namespace memtrace::record
