// Purpose: the addresses of the cards, which nobody may touch, and what lies there: in a file without a name.
// Stands for libcuda.so.1 where there is no CUDA.
//
// By raw calls: what the real driver gives comes from its own device file, not from malloc or mmap. The
// contents are written and read as a file is, so that they are not in the memory of the process.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "tests/fakes/cuda_card.h"

namespace fake::driver {
namespace {

constexpr size_t kMost = size_t{4} << 40, kLeast = size_t{1} << 30; // of addresses
constexpr size_t kPiece = size_t{1} << 16;                          // that is copied at once

struct Arena {
  Address base = 0;
  size_t bytes = kMost; // fewer under valgrind, which has not as many
  int contents = -1;
  std::map<Address, size_t> free; // by address
};
Address reserve(size_t bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  const long at = syscall(SYS_mmap, nullptr, bytes, PROT_NONE, flags, -1, 0);
  return at == -1 ? 0 : static_cast<Address>(at);
}
Arena& arena() {
  static Arena* const only = [] {
    auto* const fresh = new Arena; // nothing destroys it: programs free memory until their last instruction
    fresh->base = reserve(fresh->bytes);
    while (fresh->base == 0 && fresh->bytes > kLeast) fresh->base = reserve(fresh->bytes /= 2);
    fresh->contents = static_cast<int>(syscall(SYS_memfd_create, "card", MFD_CLOEXEC));
    if (fresh->base == 0 || ftruncate(fresh->contents, static_cast<off_t>(fresh->bytes)) != 0) std::abort();
    fresh->base = (fresh->base + kGranule - 1) & ~(kGranule - 1);
    fresh->free[fresh->base] = fresh->bytes -= kGranule;
    return fresh;
  }();
  return *only;
}
off_t place_of(Address address) {
  return static_cast<off_t>(address - arena().base);
}
size_t rounded(size_t bytes) {
  return (bytes + kGranule - 1) & ~(kGranule - 1);
}

Address host_pages(size_t bytes) {
#ifdef FAKE_CUDA_POPULATE // as a real driver's; tests that only count ask for more than a machine has
  constexpr int kKind = MAP_SHARED | MAP_POPULATE;
#else
  constexpr int kKind = MAP_PRIVATE | MAP_NORESERVE;
#endif
  const long at = syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, kKind | MAP_ANONYMOUS, -1, 0);
  return at == -1 ? 0 : static_cast<Address>(at);
}
void read_from(Address from, void* to, size_t bytes) {
  if (!on_card(from))
    std::copy_n(reinterpret_cast<const char*>(from), bytes, static_cast<char*>(to));
  else if (pread(arena().contents, to, bytes, place_of(from)) != static_cast<ssize_t>(bytes))
    std::abort();
}
void write_to(Address to, const void* from, size_t bytes) {
  if (!on_card(to))
    std::copy_n(static_cast<const char*>(from), bytes, reinterpret_cast<char*>(to));
  else if (pwrite(arena().contents, from, bytes, place_of(to)) != static_cast<ssize_t>(bytes))
    std::abort();
}
// How many bytes from `address` on were never written.
size_t hole_at(Address address, size_t bytes) {
  const off_t place = place_of(address);
  const off_t data = lseek(arena().contents, place, SEEK_DATA);
  return data < 0 ? bytes : std::min(bytes, static_cast<size_t>(data - place));
}
void punch(Address at, size_t bytes) {
  fallocate(arena().contents, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, place_of(at),
            static_cast<off_t>(bytes));
}

} // namespace

bool on_card(Address address) {
  return address >= arena().base && address < arena().base + arena().bytes;
}

Address pages(size_t bytes, bool host) {
  if (host) return host_pages(bytes);
  const Lock lock(mutex);
  auto& free = arena().free;
  const size_t wanted = rounded(bytes);
  const auto room =
      std::find_if(free.begin(), free.end(), [wanted](const auto& range) { return range.second >= wanted; });
  if (room == free.end()) return 0;
  const auto [at, size] = *room;
  free.erase(room);
  if (size > wanted) free[at + wanted] = size - wanted;
  return at;
}

void return_pages(Address at, size_t bytes) {
  if (!on_card(at)) {
    syscall(SYS_munmap, at, bytes);
    return;
  }
  const Lock lock(mutex);
  bytes = rounded(bytes);
  punch(at, bytes);
  auto& free = arena().free;
  auto next = free.lower_bound(at);
  if (next != free.end() && next->first == at + bytes) {
    bytes += next->second;
    next = free.erase(next);
  }
  if (next != free.begin() && std::prev(next)->first + std::prev(next)->second == at)
    std::prev(next)->second += bytes;
  else
    free[at] = bytes;
}

void copy(Address to, Address from, size_t bytes) {
  char piece[kPiece];
  while (bytes > 0) {
    const size_t hole = on_card(from) && on_card(to) ? hole_at(from, bytes) : 0;
    if (hole > 0) punch(to, hole);
    const size_t step = hole > 0 ? hole : std::min(bytes, kPiece);
    if (hole == 0) {
      read_from(from, piece, step);
      write_to(to, piece, step);
    }
    to += step;
    from += step;
    bytes -= step;
  }
}

void fill(Address to, const void* pattern, size_t pattern_bytes, size_t bytes) {
  const auto* const wanted = static_cast<const char*>(pattern);
  if (std::all_of(wanted, wanted + pattern_bytes, [](char byte) { return byte == 0; }) && on_card(to)) {
    punch(to, bytes);
    return;
  }
  char piece[kPiece];
  for (size_t i = 0; i < kPiece; i += pattern_bytes) std::copy_n(wanted, pattern_bytes, piece + i);
  for (size_t done = 0; done < bytes; done += kPiece)
    write_to(to + done, piece, std::min(kPiece, bytes - done));
}

} // namespace fake::driver
