// Purpose: maps memory for the recorder, and reads memory of the program safely.
// Runs: on any thread, also on threads that glibc does not know.
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
// Sets whether the kernel locks each new mapping, because the program called mlockall(MCL_FUTURE). If so, the
// recorder maps its memory without access first, and unlocks it before it has a page.
void set_new_are_locked(bool are);
bool new_are_locked();

bool is_readable(const void* address);
// Pieces of this process's memory, any of which may be unmapped. copy_memory() copies them in order and returns
// the number of bytes copied, or a negative errno.
struct Piece {
  const void* at;
  std::size_t bytes;
};
long copy_memory(void* out, const Piece* pieces, std::size_t count);
bool make_writable(void* address, std::size_t bytes); // the pages of the range, permanently
long pages_in_memory(std::uint64_t start, std::size_t bytes, std::uint8_t* out); // mincore

} // namespace memtrace::record::os
