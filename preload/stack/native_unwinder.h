// Purpose: return addresses of the calling thread. It takes no lock of the loader. The build chooses the back
// end, MEMTRACE_UNWINDER: own_unwinder.cpp (x86-64) or libunwind_unwinder.cpp.
// Runs: inside the program's malloc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/stack/known_stack.h"

namespace memtrace::record {

// The address range of code.
struct Range {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  bool holds(std::uint64_t address) const { return address - start < end - start; }
};

// Memory of one thread for its walks. Zeroed at first; then only the back end knows its contents. It has one
// size for all back ends of a processor, so that all other code is compiled once.
struct alignas(16) UnwindMemory {
#if defined(__x86_64__)
  static constexpr std::size_t kBytes = 4144;
#else
  static constexpr std::size_t kBytes = 8192; // a ucontext_t of aarch64 alone takes 4,560
#endif
  std::uint8_t opaque[kBytes];
};

// Prepares walks. False: there is no memory, or what the back end needs is missing; then stacks have only
// Python frames. Both back ends need glibc 2.35. Only while no other thread may load a library.
bool open_unwinder();
// True if open_unwinder() opens a library. Then it must not run inside malloc, which the loader calls, too.
bool unwinder_needs_loader();

// Called after a dlclose, because other code may be loaded at the addresses of the library.
void code_was_unloaded();

// The return addresses of a walk.
struct Frames {
  std::size_t count = 0;
  KnownStacks* stacks = nullptr; // with these native frames; null: their chain is not known
  std::uint64_t chain = 0;       // its number; a later chain in the same memory has another one
};

// Writes return addresses, innermost first, without those in `skip`, up to the first in `stop`. If a signal
// interrupted a frame, writes its address plus 1: callers take each address as one after a call, and
// subtract 1. `hint` is any value that often differs where stacks differ. `memory` belongs to the calling
// thread, which is not in another walk.
Frames unwind(std::uint64_t* out, std::size_t capacity, const Range& skip, const Range& stop,
              std::uint64_t hint, UnwindMemory& memory);

// True if the calling thread is in a walk, and the back end may allocate there. Such a block is not the
// program's.
bool unwinder_may_allocate();

std::uint64_t unwinder_bytes(); // private memory that the back end has touched, without UnwindMemory
void drop_unwind_caches();      // frees pages that the back end can fill again; on any thread

} // namespace memtrace::record
