// Purpose: the chains of frames that walks found, by the words of the stack that each walk read.
// Runs: inside the program's malloc.
//
// A walk is a function of these words: while they are unchanged, it finds the same frames. So a known chain
// needs no unwind rules, only comparisons. Most allocations of a training step have the chains of the step
// before.
//
// The chains are a tree. A node says which word comes next, because the words so far decide where the next one
// is. Places are relative to the stack pointer, so threads and depths share chains.
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

constexpr std::size_t kNotKnown = ~std::size_t{0};
constexpr std::size_t kMostReadWords = 160; // of a walk whose chain is kept

// Walks with the same frames left out, the same end and the same capacity.
struct ChainKind {
  const Range& skip;
  const Range& stop;
  std::size_t capacity;
};

// Writes the return addresses of the chain whose words begin at `base`, and returns their number; kNotKnown:
// the chain is not known, or it leaves the readable stack, which ends at `readable_end`.
std::size_t known_chain(std::uint64_t base, std::uint64_t readable_end, const ChainKind& kind,
                        std::uint64_t* out);

// Returns room for kMostReadWords, the words of a walk in the order in which it read them. The caller then
// calls end_chain(). Null: another thread adds a chain.
ReadWord* begin_chain();
void end_chain(std::size_t count, const ChainKind& kind);

// Called after an unload, because other code may be loaded at those addresses.
void forget_known_chains();
void drop_known_chains(); // also drops their pages; on any thread

} // namespace memtrace::record
