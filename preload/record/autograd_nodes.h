// Purpose: links memory of the backward pass to the forward call whose node autograd evaluates.
// Runs: inside PyTorch's allocators, and inside its engine's evaluation of a node.
//
// In backward, the Python stack has only the line of `loss.backward()`; on a thread of the engine it is empty.
// Each node has the number that autograd drew for it on the thread of the forward call. Autograd draws it
// before the operator allocates its result. So the next tensor of the same Python instruction has the stack of
// the forward call. No callback for each operator is needed (docs/decisions/0048).
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/record/captured_stack.h"

namespace memtrace::record {

// Reserves the memory. Only the constructor calls it. Without memory, no node is known.
void prepare_nodes();

// The key of a node: the number that autograd drew, and the id that PyTorch gave the thread of the forward
// call.
constexpr std::uint64_t node_key(std::uint64_t number, std::uint64_t thread) {
  return thread << 48 | (number + 1);
}

// Notes that the calling thread makes the node with this number.
void make_node(std::uint64_t number);

// Returns the number + 1 of the node that the calling thread made last, if Python is still at the instruction
// that made it. Returns each node once, and 0 otherwise. A view makes a node and allocates nothing: the next
// tensor is that of another instruction, so the node has no stack. It would be that of a wrong line.
std::uint64_t take_made_node();

// Remembers the forward call that made a node. A later node may take its place. If one thread makes all nodes,
// the newest 16,384 are known.
void note_forward(std::uint64_t key, const CapturedStack& call);

// Begins the evaluation of a node on the calling thread. `return_slot` is the word of the stack that has the
// return address of the evaluation. Its end needs no call: see forward_of().
void begin_node(const void* node, const std::uint64_t* return_slot);

// Returns the forward call whose node this thread evaluates; StackId{0} if none is known.
// `addresses`: the native stack. The node counts only if the return address of its evaluation is in there, and
// still in its place on the stack. If Python frames are between the evaluation and the allocation, as in a
// checkpoint that runs forward again, `addresses` end before the evaluation.
CapturedStack forward_of(const std::uint64_t* addresses, std::size_t count);

// Returns the most bytes that the table has touched.
std::uint64_t node_bytes();

} // namespace memtrace::record
