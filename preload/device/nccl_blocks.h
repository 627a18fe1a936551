// Purpose: gives device memory of NCCL the name of its process group.
// Runs: inside the calls of CUDA's runtime and driver; names are given under the GIL.
#pragma once

#include "preload/blocks/recording.h"

namespace memtrace::record {

// Called after the birth was recorded. If NCCL asked for the block, and the group of this thread has a name,
// labels the block. If the group has none yet, the block waits for it.
void label_nccl_block(const Recording& here, const HookedBlock& block);
// Forgets the block, because it died.
void nccl_block_died(std::uint64_t address, unsigned memory);
// Labels the blocks that waited. Called under the GIL, when the groups were named.
void label_waiting_nccl_blocks();

} // namespace memtrace::record
