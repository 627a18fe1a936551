// Purpose: the chains of frames that walks found, with the words of the stack that each walk read.
// Runs: inside the program's malloc.
//
// A walk is a function of these words: while they are unchanged, it finds the same frames. So a known chain
// needs no unwind rules, only comparisons. Most allocations of a training step have the chains of the step
// before.
//
// The words of a chain are side by side, and their places are known before the first is read. So the processor
// reads them at the same time. A walk by rules reads one after the other, and each read may miss the caches:
// between two tensors, a small step takes them all.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/stack/native_unwinder.h"

namespace memtrace::record {

// A word that a walk read.
struct ReadWord {
  std::uint64_t value;
  std::uint32_t place;      // 8-byte words above `base`
  bool is_address_of_stack; // compared relative to `base`
  bool is_shown;            // a return address of the chain
};

// Returns false if there is no memory. Constructor only.
bool open_known_chains();
std::uint64_t known_chains_bytes(); // touched so far

constexpr std::size_t kMostReadWords = 160; // of a walk whose chain is kept

// What a walk begins with. Chains of equal walks may differ, but few do.
struct WalkStart {
  const Range& skip; // frames left out
  const Range& stop; // the walk ends there
  std::size_t capacity;
  std::uint64_t base;         // where its words begin
  std::uint64_t readable_end; // of the stack
  std::uint64_t hint;
};

// Writes the return addresses of the chain whose words are on the stack. Without `stacks`: the chain is not
// known, or it leaves the readable stack.
Frames known_chain(const WalkStart& start, std::uint64_t* out);

// Returns room for kMostReadWords, the words of a walk in the order in which it read them. The caller then
// calls end_chain(). Null: the chain was not seen before, or another thread adds one. `frames` are the chain.
ReadWord* begin_chain(const WalkStart& start, const std::uint64_t* frames, std::size_t count);
void end_chain(const WalkStart& start, std::size_t count);

// Called after an unload, because other code may be loaded at those addresses.
void forget_known_chains();
void drop_known_chains(); // also drops their pages; on any thread

} // namespace memtrace::record
