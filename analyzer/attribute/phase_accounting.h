// Purpose: the first pass: levels and flows of every phase and step, and the peaks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "analyzer/attribute/device_usage.h"
#include "analyzer/attribute/keyframes.h"
#include "analyzer/attribute/marked_instants.h"
#include "analyzer/attribute/phase_rows.h"
#include "analyzer/attribute/row_thinning.h"
#include "analyzer/replay/replay.h"
#include "analyzer/trace/rss_ledgers.h"

namespace memtrace::replay {

struct MemoryPeaks {
  Peak live;
  Peak tensor;
  std::optional<Peak> reserved;
};

// The end of an optimizer's step. At this time all memory that training retains exists: parameters, gradients,
// optimizer states.
struct Update {
  trace::Ordinal at = 0; // just after this event
  format::Stamp stamp = 0;
  Step step = Step::none;
  // bytes that a framework's allocator of pinned memory held, but that were not in use
  std::uint64_t pinned_idle = 0;
  std::vector<Level> levels; // by MemoryId
};

struct Account {
  Rows rows;                                    // packed in parts; `began` gives the order in which they began
  std::uint64_t stride = 1;                     // above 1: of ordinary steps, `rows` has one in so many
  std::map<MemoryId, MemoryPeaks> peaks;        // always has the host
  std::map<MemoryId, DeviceUsage> device_usage; // of GPUs that were sampled
  std::optional<Update> last_update;
  std::optional<Peak> rss; // the highest VmHWM that was read
  trace::Ledgers ledgers;
  MarkedInstants instants; // the snapshots of the user
  bool tensors = false;    // any memory had tensor bytes
  Paths paths;
  Step first_update = Step::none;
  Step last_step = Step::none;
  // steps whose events are all there, ascending; more than one span if windows are missing
  std::vector<StepSpan> detail;
  std::uint64_t unknown_deaths = 0;
  // Forwards that another forward or an update followed, instead of a backward.
  std::uint64_t forwards_without_backward = 0;
  std::int64_t left = 0; // live bytes of the host after the last event
  trace::OrderCounts counts;

  // True if all events of a step are there: no gap between windows begins or ends in it. Step::none is whole if
  // the trace has no gap.
  bool whole(Step step) const;
};

// Runs the first pass. Memory grows with live blocks, and with rows: about 40 bytes each, up to
// RowThinning::kMostRows. If `keyframes` is not null, it gets states of this pass. The observers `beside`
// follow the same pass. The rows of `wanted` remain.
Account account_phases(const trace::Trace& trace, Keyframes* keyframes = nullptr,
                       std::span<SideObserver* const> beside = {}, const WantedSteps& wanted = {});

} // namespace memtrace::replay
