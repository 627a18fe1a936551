// Purpose: says what a memory snapshot of PyTorch holds, and what it cannot show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/trace/process_facts.h"

namespace memtrace::report {

struct TorchHistory {
  std::uint64_t events = 0; // 0: the history was not recorded
  std::uint64_t older = 0;  // blocks and segments from before the first event
  bool pinned = false;      // the snapshot has the state of the allocator of pinned memory
};

// Returns nullopt if the trace is not a snapshot of PyTorch.
std::optional<TorchHistory> torch_history(const trace::Facts& facts);

// Returns a sentence or two about the history: whether it begins with the first allocation.
std::string history_text(const TorchHistory& history);

} // namespace memtrace::report
