// Purpose: tells for which node of autograd the calling thread allocates.
// Runs: inside PyTorch's allocators, outside malloc.
#pragma once

#include <cstdint>

namespace memtrace::hooks {

// Returns the key of the node that this thread made last, if Python is still at the instruction that made it. A
// node has its key once. Else 0. Keeps errno. See record/autograd_nodes.h.
std::uint64_t take_new_node_key();

} // namespace memtrace::hooks
