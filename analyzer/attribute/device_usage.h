// Purpose: the highest usage that a GPU reported, and the part of it that no allocation explains.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "analyzer/attribute/phase_rows.h"
#include "analyzer/replay/live_blocks.h"

namespace memtrace::replay {

struct StepSpan { // inclusive
  Step first = Step::none;
  Step last = Step::none;
};

struct Peak {
  std::int64_t bytes = 0;
  trace::Ordinal at = 0;
  format::Stamp stamp = 0;
  PathId path = PathId::other;
  Step step = Step::none;
  // not null: the peak is from the rollup. It was in one of these steps, and its blocks are unknown.
  std::optional<StepSpan> bucket;
};

// Used bytes of a GPU that no allocation explains, divided by the time at which they came: with the context,
// with modules, or later. No driver reports these parts. So each part is an estimate, and their sum is the
// residual.
struct Residual {
  std::int64_t context = 0; // present at the first sample
  std::int64_t code = 0;    // came between two samples, if modules were loaded between them
  std::int64_t rest = 0;    // all else: local memory of kernels, streams, handles of libraries
  std::int64_t sum() const;
};

struct DeviceUsage {
  std::optional<Peak> peak;
  bool own = false; // true: of this process only. false: of all processes that use the GPU
  std::uint64_t gpu = format::kNotSaid;
  std::uint64_t total = format::kNotSaid;
  std::uint64_t others_used = format::kNotSaid;
  std::uint64_t code = 0; // bytes of the cubins loaded by then: a lower bound of the GPU memory that they take
  std::uint32_t others = 0;
  std::int64_t live = 0;
  std::int64_t pools = 0;      // bytes that the driver's pools hold and have not given out
  std::int64_t asked_live = 0; // the most that was live while the figure of a sample was current
  Residual residual;
  format::StackId context_maker{}; // of the first context; 0: not recorded

  // True if the residual belongs to this process. A figure of the whole GPU also does if the GPU reports one
  // process: that is this process, under the pid of another namespace.
  bool alone() const { return own || (others == 1 && others_used != format::kNotSaid); }
};

// Follows the usage of one GPU from sample to sample.
class DeviceTimeline {
 public:
  // Takes a sample_device. Returns false if it has no figure that belongs here: the GPU reports neither the
  // bytes of this process nor those of all processes, or fewer than are live, or those of all processes after
  // those of this process.
  bool look(const trace::Event& event, const Level& level, const PhasePosition& place);
  // Takes births, deaths and `reserved`: the bytes that the driver's pools gave out, and the bytes that they
  // hold. If one changes what the GPU uses, the figure of the last sample is not current any more.
  void follow(const trace::Event& event);
  void forget(); // call it before the snapshot of a window

  // Returns the bytes that the last sample reported, or kNotShown if they are not current any more.
  std::int64_t shown() const { return shown_; }
  // Notes that so much is live now. Returns true if the figure of the last sample is current.
  bool reached(std::int64_t live);
  const DeviceUsage& most() const { return most_; }

 private:
  std::int64_t pools_spare() const;
  void divide(std::int64_t residual, std::uint64_t code);
  void hold_in_pools(std::int64_t bytes);

  DeviceUsage most_;
  std::int64_t shown_ = kNotShown;
  std::int64_t managed_ = 0; // live bytes of managed memory: the driver may keep them on the host
  bool looked_ = false;
  format::StackId context_maker_{};
  Residual residual_;
  std::uint64_t code_ = 0;
  bool framework_ = false; // `reserved` comes from the framework's allocator, not from the pools
  std::int64_t pools_gave_ = 0;
  std::int64_t pools_hold_ = 0;
};

} // namespace memtrace::replay
