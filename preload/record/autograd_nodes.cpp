// Purpose: links memory of the backward pass to the forward call whose node autograd evaluates.
// Runs: inside PyTorch's allocators, and inside its engine's evaluation of a node.
#include "preload/record/autograd_nodes.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "preload/os/mappings.h"
#include "preload/state/thread.h"

namespace memtrace::record {

using format::StackId;

namespace {

// Threads read and write the table without a lock. A thread may see the key of one node with the stack of
// another. So the word of the stack repeats a part of the key.
struct Forward {
  std::uint64_t key;
  std::uint64_t key_and_stack;
};
constexpr std::size_t kForwards = 16 * 1024; // a training step of a GPT with 24 layers makes about 1,500 nodes

constinit Forward* forwards = nullptr;
constinit bool used = false;

Forward& slot_of(std::uint64_t key) {
  return forwards[(key + (key >> 48) * 0x9E37u) % kForwards];
}
std::uint64_t part_of(std::uint64_t key) {
  return (key ^ key >> 48) << 32;
}

StackId look_up(std::uint64_t key) {
  const Forward& slot = slot_of(key);
  if (__atomic_load_n(&slot.key, __ATOMIC_RELAXED) != key) return StackId{0};
  const std::uint64_t word = __atomic_load_n(&slot.key_and_stack, __ATOMIC_ACQUIRE);
  return (word ^ part_of(key)) >> 32 == 0 ? StackId{static_cast<std::uint32_t>(word)} : StackId{0};
}

// The places of a node's number: in PyTorch 2.13, and up to 2.11. The number of the thread is 24 bytes after
// it. Elsewhere, these words are pointers and counts, which are no key in the table.
constexpr std::size_t kNumberAt[] = {16, 24};
constexpr std::size_t kThreadAfter = 24;

std::uint64_t word_at(const void* node, std::size_t offset) {
  std::uint64_t out;
  std::memcpy(&out, static_cast<const char*>(node) + offset, sizeof out);
  return out;
}

} // namespace

void prepare_nodes() {
  forwards = static_cast<Forward*>(os::map_private(kForwards * sizeof(Forward)));
}

void note_forward(std::uint64_t key, StackId stack) {
  if (forwards == nullptr || stack == StackId{0}) return;
  __atomic_store_n(&used, true, __ATOMIC_RELAXED);
  Forward& slot = slot_of(key);
  __atomic_store_n(&slot.key_and_stack, part_of(key) | static_cast<std::uint32_t>(stack), __ATOMIC_RELEASE);
  __atomic_store_n(&slot.key, key, __ATOMIC_RELAXED);
}

void begin_node(const void* node, const void* return_address, const void* frame) {
  local.node = node;
  local.node_return = reinterpret_cast<std::uint64_t>(return_address);
  local.node_frame = reinterpret_cast<std::uint64_t>(frame);
}

StackId forward_of(const std::uint64_t* addresses, std::size_t count) {
  if (local.node == nullptr || forwards == nullptr) return StackId{0};
  const bool over = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)) > local.node_frame;
  if (over || std::find(addresses, addresses + count, local.node_return) == addresses + count)
    return StackId{0};
  for (const std::size_t at : kNumberAt) {
    const std::uint64_t key = node_key(word_at(local.node, at), word_at(local.node, at + kThreadAfter));
    if (const StackId stack = look_up(key); stack != StackId{0}) return stack;
  }
  return StackId{0};
}

std::uint64_t node_bytes() {
  return __atomic_load_n(&used, __ATOMIC_RELAXED) ? kForwards * sizeof(Forward) : 0;
}

void drop_nodes() {
  if (forwards == nullptr) return;
  __atomic_store_n(&used, false, __ATOMIC_RELAXED);
  os::advise(forwards, kForwards * sizeof(Forward), MADV_DONTNEED);
}

} // namespace memtrace::record
