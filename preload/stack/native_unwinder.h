// Purpose: return addresses of the calling thread, by the unwind tables: no lock, no allocation, no loader.
// Runs: inside the program's malloc.
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

// One frame as the unwinder knows it. The words that led to it lie below `sp` and at `bp_slot`: as long as they
// are what they were, the frame inside it leads to it again.
struct WalkedFrame {
  std::uint64_t ip;
  std::uint64_t sp;
  std::uint64_t bp;
  std::uint64_t bp_slot; // 0: no word was read for bp; 1: other words were read, which are not kept
};

// What the unwinder keeps of one thread: the frames of its last walk. Most walks differ from the one before in
// their innermost frames alone, and comparing two words takes a fifth of the time of finding a rule.
struct Walk {
  static constexpr std::size_t kMost = 64; // deeper ones are not kept
  Reach reach;
  WalkedFrame known[kMost]; // outermost first
  WalkedFrame fresh[kMost]; // innermost first, of the walk that goes on
  std::uint32_t count;      // of `known`
  std::uint32_t unloads;    // how often code was unloaded until then
};

// Room for the rules. False: short of memory, or glibc is older than 2.35: stacks have Python frames alone.
// Constructor only.
bool open_unwinder();

// After a dlclose: other code may come to lie where a library was.
void code_was_unloaded();

// Return addresses, innermost first, without those in `skip`, up to the first in `stop`: how many. `walk` is
// the calling thread's own.
std::size_t unwind(std::uint64_t* out, std::size_t capacity, const Range& skip, const Range& stop, Walk& walk);

} // namespace memtrace::record
