// Purpose: the node that autograd made last on the calling thread.
// Runs: inside PyTorch's allocators, outside malloc.
#pragma once

#include <cstdint>

namespace memtrace::hooks {

// Returns the key of the node that this thread made since the last call; 0 if it made none, or if PyTorch is
// not there. See record/autograd_nodes.h.
std::uint64_t new_node();

} // namespace memtrace::hooks
