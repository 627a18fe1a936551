// Purpose: finds when phases and steps began and ended.
#pragma once

#include <functional>
#include <optional>

#include "analyzer/replay/replay.h"

namespace memtrace::report {

// The begin or the end of a phase of a thread, or of a step of the process.
struct SliceEdge {
  bool begins = true;
  format::Stamp stamp = 0;
  std::optional<std::uint32_t> thread; // nullopt: a step
  std::string name;                    // of a begin: "update", "step 3"
};

// Gives the edges in the order of the events. Those of one thread, and those of the steps, nest. A gap in the
// trace ends all that is open.
void each_slice_edge(const trace::Trace& trace, const std::function<void(const SliceEdge&)>& take);

} // namespace memtrace::report
