// Purpose: memory of the recorder, and a careful look at memory of the program.
// Runs: on any thread, also on one that glibc does not know.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record::os {

void* map_private(std::size_t bytes);                               // null on failure
void* map_shared(long fd, std::uint64_t offset, std::size_t bytes); // null on failure
void unmap(void* address, std::size_t bytes);
void* extend(void* address, std::size_t bytes, std::size_t wanted); // a private mapping; null on failure
long advise(void* address, std::size_t bytes, int advice);
long lock(std::uint64_t start, std::uint64_t bytes, bool on_fault); // mlock2
long unlock(std::uint64_t start, std::uint64_t bytes);
// Whether the kernel locks each new mapping, by the program's mlockall(MCL_FUTURE): then ours are made without
// access first, so that they are unlocked before they have a page.
void set_new_are_locked(bool are);
bool new_are_locked();

bool is_readable(const void* address);
// Pieces of this process's memory, any of which may be gone: how many bytes could be copied, in order.
struct Piece {
  const void* at;
  std::size_t bytes;
};
long copy_memory(void* out, const Piece* pieces, std::size_t count);
bool make_writable(void* address, std::size_t bytes); // the pages around it, for good
long pages_in_memory(std::uint64_t start, std::size_t bytes, std::uint8_t* out); // mincore

} // namespace memtrace::record::os
