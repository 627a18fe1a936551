// Purpose: return addresses of the calling thread, by the unwind tables. It takes no lock, allocates nothing
// and does not call the loader.
// Runs: inside the program's malloc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

// The address range of code.
struct Range {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  bool holds(std::uint64_t address) const { return address - start < end - start; }
};

// The part of a thread's stack that is known to be readable. It grows as the thread goes deeper.
struct Reach {
  std::uint64_t low;
  std::uint64_t high;
};

// One frame of a walk. The words that led to it are below `sp` and at `bp_slot`. While they are unchanged, the
// inner frame still leads to it.
struct WalkedFrame {
  std::uint64_t ip;
  std::uint64_t sp;
  std::uint64_t bp;
  std::uint64_t bp_slot; // 0: bp was not read from memory; 1: other words were read, which are not kept
};

// The frames of a thread's last walk. Most walks differ from the last one only in their innermost frames.
// Comparing two words takes a fifth of the time of finding a rule.
struct Walk {
  static constexpr std::size_t kMost = 64; // deeper ones are not kept
  Reach reach;
  WalkedFrame known[kMost]; // outermost first
  WalkedFrame fresh[kMost]; // innermost first, of the current walk
  std::uint32_t count;      // entries of `known`
  std::uint32_t unloads;    // unloads of code before the last walk
};

// Maps memory for the rules. False: no memory, or glibc is older than 2.35; then stacks have only Python
// frames. Constructor only.
bool open_unwinder();

// Called after a dlclose, because other code may be loaded at the addresses of the library.
void code_was_unloaded();

// Writes return addresses, innermost first, without those in `skip`, up to the first in `stop`. Returns their
// number. `walk` belongs to the calling thread.
std::size_t unwind(std::uint64_t* out, std::size_t capacity, const Range& skip, const Range& stop, Walk& walk);

} // namespace memtrace::record
