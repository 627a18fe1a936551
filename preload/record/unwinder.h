// Room: record. Runs inside the victim's malloc.
// Job: return addresses of the calling thread, by the unwind tables: no lock, no allocation, no loader.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

// Code, as a range of addresses.
struct Range {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  bool holds(std::uint64_t address) const { return address - start < end - start; }
};

// Stack of a thread that is known to be readable. It grows as the thread goes deeper.
struct Reach {
  std::uint64_t low;
  std::uint64_t high;
};

// Room for the rules. False: short of memory, or glibc is older than 2.35: stacks have Python frames alone.
// Constructor only.
bool open_unwinder();

// After a dlclose: other code may come to lie where a library was.
void code_was_unloaded();

// Return addresses, innermost first, without those in `skip`, up to the first in `stop`: how many. 10 ns a
// frame whose rule is known.
std::size_t unwind(std::uint64_t* out, std::size_t capacity, const Range& skip, const Range& stop,
                   Reach& reach);

} // namespace memtrace::record
