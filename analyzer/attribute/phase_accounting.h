// Purpose: the first pass: levels and flows of every phase and step, and where the peaks are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "analyzer/attribute/device_usage.h"
#include "analyzer/attribute/phase_rows.h"
#include "analyzer/replay/replay.h"
#include "analyzer/trace/rss_ledgers.h"

namespace memtrace::replay {

struct MemoryPeaks {
  Peak live;
  Peak tensor;
  std::optional<Peak> reserved;
};

// The end of an optimizer's step, when what a training run keeps is there: parameters, gradients, states.
struct Update {
  trace::Ordinal at = 0; // just after this event
  format::Stamp stamp = 0;
  Step step = Step::none;
  std::uint64_t pinned_idle = 0; // bytes that a framework's allocator of pinned memory held and nobody used
  std::vector<Level> levels;     // by MemoryId
};

struct Account {
  Rows rows;                             // in the order in which they ended: `began` tells the other one
  std::map<MemoryId, MemoryPeaks> peaks; // host always
  std::map<MemoryId, DeviceUsage> device_usage; // of devices that were asked
  std::optional<Update> last_update;
  std::optional<Peak> rss; // the highest VmHWM that was read
  trace::Ledgers ledgers;
  bool tensors = false; // any memory had tensor bytes
  Paths paths;
  Step first_update = Step::none;
  Step last_step = Step::none;
  std::vector<StepSpan> detail; // steps seen from begin to end, ascending; more than one where windows are gone
  std::uint64_t unknown_deaths = 0;
  std::int64_t left = 0; // live bytes of the host after the last event
  trace::OrderCounts counts;

  // A step in which a gap between windows begins or ends is not; what has no step is, with one window.
  bool whole(Step step) const;
};

// The first pass. Memory grows with live blocks, and with rows: some 40 bytes each.
Account account_phases(const trace::Trace& trace);

} // namespace memtrace::replay
