// Purpose: names the use of blocks, also of those whose phase did not end before the process died.
#pragma once

#include <string>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

struct BlockOwner {
  const char* name = ""; // "state dict", "model"; "": the role or the kind says enough
  replay::Role role = replay::Role::unknown;
};

// True if the blocks of the site were read from a checkpoint, by torch.load or safetensors.
bool reads_checkpoint(const symbols::Site& site);

BlockOwner owner_of(ProcessAnalysis& analysis, const replay::Holding& holding);

// Returns the word by which every text names the block's use: its role, "state dict", "tensor", or what memory
// it is, such as "heap".
std::string use_of(ProcessAnalysis& analysis, const replay::Holding& holding);
std::string use_of(const BlockOwner& owner, const replay::Holding& holding);

} // namespace memtrace::report
