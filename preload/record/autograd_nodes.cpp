// Purpose: links memory of the backward pass to the forward call whose node autograd evaluates.
// Runs: inside PyTorch's allocators, and inside its engine's evaluation of a node.
#include "preload/record/autograd_nodes.h"

#include <algorithm>
#include <cstring>

#include "preload/os/mappings.h"
#include "preload/state/thread.h"

namespace memtrace::record {

using format::StackId;

namespace {

// Threads read and write the table without a lock. A thread may see the key of one node with the stack of
// another. So the words of the stack and of the module repeat a part of the key.
struct Forward {
  std::uint64_t key;
  std::uint64_t key_and_stack;
  std::uint64_t key_and_module;
};
constexpr std::size_t kForwards = 16 * 1024; // a training step of a GPT with 24 layers makes about 1,500 nodes

constinit Forward* forwards = nullptr;
constinit bool is_touched = false;

Forward& slot_of(std::uint64_t key) {
  return forwards[(key + (key >> 48) * 0x9E37u) % kForwards];
}
std::uint64_t part_of(std::uint64_t key) {
  return (key ^ key >> 48) << 32;
}

// Returns the id in a word of a slot of `key`, or 0 if the word is that of another node.
std::uint32_t id_in(const std::uint64_t& word_of_slot, std::uint64_t key) {
  const std::uint64_t word = __atomic_load_n(&word_of_slot, __ATOMIC_ACQUIRE);
  return (word ^ part_of(key)) >> 32 == 0 ? static_cast<std::uint32_t>(word) : 0;
}

CapturedStack look_up(std::uint64_t key) {
  const Forward& slot = slot_of(key);
  if (__atomic_load_n(&slot.key, __ATOMIC_RELAXED) != key) return {};
  return {StackId{id_in(slot.key_and_stack, key)}, format::TextId{id_in(slot.key_and_module, key)}};
}

// The words of a node: its own address, up to PyTorch 2.11 (std::enable_shared_from_this); its number, in 2.13
// and up to 2.11; and the thread's id, after the number.
constexpr std::size_t kSelf = 8, kNumber = 16, kNumberAfterSelf = 24, kThreadAfter = 24;
constexpr std::uint64_t kMostThreads = std::uint64_t{1} << 16;

std::uint64_t word_at(const void* node, std::size_t offset) {
  std::uint64_t out;
  std::memcpy(&out, static_cast<const char*>(node) + offset, sizeof out);
  return out;
}

} // namespace

void prepare_nodes() {
  forwards = static_cast<Forward*>(os::map_private(kForwards * sizeof(Forward)));
}

void make_node(std::uint64_t number) {
  local.node_made = number + 1;
  local.node_made_at = python_place();
}

std::uint64_t take_made_node() {
  const std::uint64_t made = local.node_made;
  if (made == 0 || local.node_made_at != python_place()) return 0;
  local.node_made = 0;
  return made;
}

void note_forward(std::uint64_t key, const CapturedStack& call) {
  if (forwards == nullptr || call.stack == StackId{0}) return;
  __atomic_store_n(&is_touched, true, __ATOMIC_RELAXED);
  Forward& slot = slot_of(key);
  __atomic_store_n(&slot.key_and_module, part_of(key) | static_cast<std::uint32_t>(call.module),
                   __ATOMIC_RELEASE);
  __atomic_store_n(&slot.key_and_stack, part_of(key) | static_cast<std::uint32_t>(call.stack),
                   __ATOMIC_RELEASE);
  __atomic_store_n(&slot.key, key, __ATOMIC_RELAXED);
}

// Reads the node now: later, it may be freed.
void begin_node(const void* node, const std::uint64_t* return_slot) {
  const bool has_self = word_at(node, kSelf) == reinterpret_cast<std::uint64_t>(node);
  const std::size_t at = has_self ? kNumberAfterSelf : kNumber;
  const std::uint64_t thread = word_at(node, at + kThreadAfter);
  local.node = thread < kMostThreads ? node_key(word_at(node, at), thread) : 0;
  local.node_slot = return_slot;
  local.node_return = *return_slot;
}

CapturedStack forward_of(const std::uint64_t* addresses, std::size_t count) {
  if (local.node == 0 || forwards == nullptr) return {};
  const auto* const here = static_cast<const std::uint64_t*>(__builtin_frame_address(0));
  if (here > local.node_slot || std::find(addresses, addresses + count, local.node_return) == addresses + count)
    return {};
  // An evaluation inside this one may have ended, with the same return address: the engine calls it from one
  // place.
  return *local.node_slot == local.node_return ? look_up(local.node) : CapturedStack{};
}

std::uint64_t node_bytes() {
  return __atomic_load_n(&is_touched, __ATOMIC_RELAXED) ? kForwards * sizeof(Forward) : 0;
}

} // namespace memtrace::record
