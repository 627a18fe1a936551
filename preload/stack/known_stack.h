// Purpose: a stack whose id is known, found by its hash.
// Runs: inside the program's malloc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/format/records.h"

namespace memtrace::record {

struct StackHash {
  std::uint64_t low; // never 0
  std::uint64_t high;
};

// A stack, found by 96 bits of its hash. Threads read and write it without a lock. The upper 32 bits of the
// hash are in one word with the id. If two stacks are written at the same time, their halves therefore do not
// match.
class KnownStack {
 public:
  // Returns StackId{0} if this is another stack, or none.
  format::StackId id_of(const StackHash& hash) const {
    if (__atomic_load_n(&low_, __ATOMIC_RELAXED) != hash.low) return format::StackId{0};
    const std::uint64_t word = __atomic_load_n(&high_and_id_, __ATOMIC_ACQUIRE);
    return (word ^ hash.high) >> 32 == 0 ? format::StackId{static_cast<std::uint32_t>(word)}
                                         : format::StackId{0};
  }
  void set(const StackHash& hash, format::StackId id) {
    set(hash.low, hash.high >> 32 << 32 | static_cast<std::uint32_t>(id));
  }
  // Copies the stack to `to` if the bit of its hash is set.
  void copy_if(std::uint64_t bit, KnownStack& to) const {
    const std::uint64_t word = __atomic_load_n(&high_and_id_, __ATOMIC_ACQUIRE);
    const std::uint64_t here = __atomic_load_n(&low_, __ATOMIC_RELAXED);
    if ((here & bit) != 0) to.set(here, word);
  }
  bool is_empty() const { return __atomic_load_n(&low_, __ATOMIC_RELAXED) == 0; }
  void clear() { set(0, 0); }

 private:
  void set(std::uint64_t low, std::uint64_t high_and_id) {
    __atomic_store_n(&high_and_id_, high_and_id, __ATOMIC_RELEASE);
    __atomic_store_n(&low_, low, __ATOMIC_RELAXED);
  }

  std::uint64_t low_; // 0: no stack
  std::uint64_t high_and_id_;
};

// The stacks of one chain of native frames, which differ in their frames outside of it. Each hash is over those
// frames and the number of the chain. So if the memory now belongs to another chain, no stack is found.
class KnownStacks {
 public:
  format::StackId id_of(const StackHash& hash) const {
    for (const KnownStack& stack : stacks_)
      if (const format::StackId id = stack.id_of(hash); id != format::StackId{0}) return id;
    return format::StackId{0};
  }
  void add(const StackHash& hash, format::StackId id) {
    for (KnownStack& stack : stacks_)
      if (stack.is_empty()) return stack.set(hash, id);
    stacks_[hash.high % kStacks].set(hash, id);
  }
  void clear() {
    for (KnownStack& stack : stacks_) stack.clear();
  }

 private:
  static constexpr std::size_t kStacks = 2;
  KnownStack stacks_[kStacks];
};

} // namespace memtrace::record
