// Purpose: the chains of frames that walks found, by the words of the stack that each walk read.
// Runs: inside the program's malloc.
#include "preload/stack/known_chains.h"

#include <sys/mman.h>

#include "preload/bounded/fork_locks.h"
#include "preload/os/mappings.h"

namespace memtrace::record {
namespace {

// What follows a node for one value of its word: the next node, and whether the word is a shown return address.
using Outcome = std::uint32_t;
constexpr Outcome kShown = 1u << 31;
constexpr Outcome kNextNode = kShown - 1; // 0: the chain ends

// A word of the stack. Written once, before a link to it is published.
struct Node {
  std::uint64_t value; // the first value that a walk read
  Outcome outcome;     // of that value
  std::uint16_t place;
  std::uint16_t is_address_of_stack;
};
static_assert(sizeof(Node) == 16, "four nodes share a cache line");

// Another value of a node's word. An entry is free while `node` is 0, which is written last.
struct OtherValue {
  std::uint64_t value;
  std::uint32_t node;
  Outcome outcome;
};

// The walks of one kind: with the same frames left out, the same end and the same capacity.
struct Root {
  std::uint64_t skip;
  std::uint64_t stop;
  std::size_t capacity;
  std::uint32_t node; // 0: the entry is free
};

constexpr std::uint32_t kNodes = 64 * 1024;       // 1 MiB, touched as they are used
constexpr std::uint32_t kOtherValues = 32 * 1024; // 512 KiB
constexpr std::uint32_t kMostOthers = kOtherValues / 4 * 3;
// Each time that the room was used up, only half as many chains are added: those that recur are added all the
// same. With every block of `import torch` recorded, half of the walks find a new chain.
constexpr std::uint32_t kMostTimesFull = 6;
constexpr std::size_t kRoots = 4; // with and without Python frames; tests have others

constinit SpinLock chains_lock; // taken by writers
REGISTER_LOCK(chains_lock, nullptr);
constinit Node* nodes = nullptr;
constinit OtherValue* others = nullptr;
constinit Root roots[kRoots] = {};
constinit ReadWord words_to_add[kMostReadWords] = {}; // not on the program's stack, which may be small
constinit std::uint32_t end = 1;
constinit std::uint32_t others_made = 0;
constinit std::uint32_t times_full = 0;
constinit std::uint32_t offered = 0; // chains
// Odd while the chains are being forgotten. A reader that sees two different values read nodes of two times.
constinit std::uint32_t generation = 0;

template <class T>
T load(const T& from) {
  return __atomic_load_n(&from, __ATOMIC_RELAXED);
}
template <class T>
void store(T& to, T value) {
  __atomic_store_n(&to, value, __ATOMIC_RELAXED);
}

std::uint32_t first_place(std::uint32_t node, std::uint64_t value) {
  return static_cast<std::uint32_t>((value + node * 0xD6E8FEB86659FD93u) * 0x9E3779B97F4A7C15u >> 48) %
         kOtherValues;
}

// Returns the entry of this value of the node's word, or the free entry for it.
OtherValue& entry_of(std::uint32_t node, std::uint64_t value) {
  for (std::uint32_t at = first_place(node, value);; at = (at + 1) % kOtherValues) {
    OtherValue& entry = others[at];
    const std::uint32_t of = __atomic_load_n(&entry.node, __ATOMIC_ACQUIRE);
    if (of == 0 || (of == node && load(entry.value) == value)) return entry;
  }
}

// Returns the outcome for this value of the node's word. Clears `*is_known` if no walk read it there.
Outcome outcome_of(std::uint32_t at, std::uint64_t value, bool* is_known) {
  const Node& node = nodes[at];
  if (load(node.value) == value) [[likely]]
    return load(node.outcome);
  const OtherValue& entry = entry_of(at, value);
  if (__atomic_load_n(&entry.node, __ATOMIC_ACQUIRE) != at) *is_known = false;
  return load(entry.outcome);
}

const Root* root_of(const ChainKind& kind) {
  for (const Root& root : roots)
    if (__atomic_load_n(&root.node, __ATOMIC_ACQUIRE) != 0 && root.skip == kind.skip.start &&
        root.stop == kind.stop.start && root.capacity == kind.capacity)
      return &root;
  return nullptr;
}

// The caller holds the lock.
void forget(bool and_pages) {
  __atomic_store_n(&generation, generation + 1, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  for (Root& root : roots) store(root.node, 0u);
  if (and_pages) {
    os::advise(others, kOtherValues * sizeof(OtherValue), MADV_DONTNEED);
    os::advise(nodes, kNodes * sizeof(Node), MADV_DONTNEED);
  } else if (others_made != 0) {
    for (std::uint32_t i = 0; i < kOtherValues; ++i) // read first, so that unused pages stay untouched
      if (load(others[i].node) != 0) store(others[i].node, 0u);
  }
  end = 1;
  others_made = 0;
  __atomic_store_n(&generation, generation + 1, __ATOMIC_RELEASE);
}

Outcome outcome_of(const ReadWord& word, std::uint32_t next) {
  return next | (word.is_shown ? kShown : 0);
}

// Writes nodes for these words. Returns the first. The caller holds the lock, and there is room.
std::uint32_t write_nodes(const ReadWord* words, std::size_t count) {
  const std::uint32_t first = end;
  for (std::size_t i = 0; i < count; ++i, ++end) {
    Node& node = nodes[end];
    store(node.value, words[i].value);
    store(node.outcome, outcome_of(words[i], i + 1 < count ? end + 1 : 0));
    store(node.place, static_cast<std::uint16_t>(words[i].place));
    store(node.is_address_of_stack, std::uint16_t{words[i].is_address_of_stack});
  }
  return first;
}

void add_root(const ReadWord* words, std::size_t count, const ChainKind& kind) {
  for (Root& root : roots) {
    if (root.node != 0) continue;
    root.skip = kind.skip.start;
    root.stop = kind.stop.start;
    root.capacity = kind.capacity;
    __atomic_store_n(&root.node, write_nodes(words, count), __ATOMIC_RELEASE);
    return;
  }
}

// Adds the words below the node `at`, which the first of them is the word of. The caller holds the lock.
void add_below(std::uint32_t at, const ReadWord* words, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const Node& node = nodes[at];
    // Equal words before this one led to another place: the unwind tables changed in between.
    if (at == 0 || node.place != words[i].place ||
        node.is_address_of_stack != std::uint16_t{words[i].is_address_of_stack})
      return;
    bool is_known = true;
    const Outcome outcome = outcome_of(at, words[i].value, &is_known);
    if (!is_known) {
      const std::uint32_t next = i + 1 < count ? write_nodes(words + i + 1, count - i - 1) : 0;
      OtherValue& entry = entry_of(at, words[i].value);
      store(entry.value, words[i].value);
      store(entry.outcome, outcome_of(words[i], next));
      __atomic_store_n(&entry.node, at, __ATOMIC_RELEASE);
      ++others_made;
      return;
    }
    at = outcome & kNextNode;
  }
}

bool fits(const ReadWord* words, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (words[i].place > 0xFFFF) return false;
  return count != 0;
}

} // namespace

bool open_known_chains() {
  nodes = static_cast<Node*>(os::map_private(kNodes * sizeof(Node)));
  others = static_cast<OtherValue*>(os::map_private(kOtherValues * sizeof(OtherValue)));
  return nodes != nullptr && others != nullptr;
}

std::uint64_t known_chains_bytes() {
  return nodes == nullptr ? 0 : end * sizeof(Node) + (others_made != 0 ? kOtherValues * sizeof(OtherValue) : 0);
}

std::size_t known_chain(std::uint64_t base, std::uint64_t readable_end, const ChainKind& kind,
                        std::uint64_t* out) {
  const std::uint32_t before = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
  const Root* const root = root_of(kind);
  if (root == nullptr || before % 2 != 0) return kNotKnown;
  std::uint32_t at = load(root->node);
  if (at == 0) return kNotKnown;
  std::size_t count = 0;
  bool is_known = true;
  for (std::size_t left = kMostReadWords; at != 0 && left > 0; --left) {
    const Node& node = nodes[at];
    const std::uint64_t address = base + std::uint64_t{load(node.place)} * 8;
    if (address + 8 > readable_end) return kNotKnown;
    const std::uint64_t word = *reinterpret_cast<const std::uint64_t*>(address);
    const Outcome outcome = outcome_of(at, load(node.is_address_of_stack) != 0 ? word - base : word, &is_known);
    if (!is_known) return kNotKnown;
    if ((outcome & kShown) != 0 && count < kind.capacity) out[count++] = word;
    at = outcome & kNextNode;
  }
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return at == 0 && load(generation) == before ? count : kNotKnown;
}

ReadWord* begin_chain() {
  if (!chains_lock.try_lock()) return nullptr;
  if (offered++ % (1u << times_full) == 0) return words_to_add;
  chains_lock.unlock();
  return nullptr;
}

void end_chain(std::size_t count, const ChainKind& kind) {
  if (fits(words_to_add, count)) {
    if (end + count > kNodes || others_made >= kMostOthers) {
      forget(false);
      if (times_full < kMostTimesFull) ++times_full;
    }
    if (const Root* const root = root_of(kind); root != nullptr) {
      add_below(root->node, words_to_add, count);
    } else {
      add_root(words_to_add, count, kind);
    }
  }
  chains_lock.unlock();
}

void forget_known_chains() {
  const Locked locked(chains_lock);
  if (locked && nodes != nullptr && others != nullptr) forget(false);
}

void drop_known_chains() {
  const Locked locked(chains_lock);
  if (locked && nodes != nullptr && others != nullptr) forget(true);
}

} // namespace memtrace::record
