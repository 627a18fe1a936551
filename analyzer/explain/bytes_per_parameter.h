// Purpose: compares the bytes that training retains for each parameter with theory, line by line.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

// Blocks with equal role, kind, name of buffer, phase and step of birth. Blocks without a role also share one
// site. Rows that differ in the step alone are one row if there are at least four.
struct KeptRow {
  enum class Retention : std::uint8_t { live, freed, kept_by_malloc };
  Retention state = Retention::live;
  std::string name;    // the name of the buffer, else the role, else the kind
  bool buffer = false; // true: `name` is that of the buffer, as the program spells it
  replay::Role role = replay::Role::unknown;
  format::Kind kind = format::Kind::none;
  bool tensors = false;
  std::string use;            // as use_of(); empty for a row of several uses
  std::uint64_t asked = 0;    // bytes requested; blocks that no framework requested: the bytes given
  std::uint64_t bytes = 0;    // bytes given, rounded up by the allocator
  std::uint64_t resident = 0; // of these: resident
  std::uint64_t late = 0;     // of these: became resident later than the rest of their block
  std::string late_phase;     // the phase in which most late bytes became resident
  replay::Step late_step = replay::Step::none;
  std::uint64_t largest = 0;  // bytes of the largest site
  std::uint64_t lifetime = 0; // ns, of the blocks of that site
  std::set<format::StackId> sites;
  std::string phase; // the phase of birth
  replay::Step step = replay::Step::none;
  replay::Step last_step = replay::Step::none; // of a row of many steps; else `step`
  format::StackId stack{};                     // the largest site
  std::optional<double> theory;                // bytes per parameter; nullopt: no theory for this row
};

// The live bytes that a part of the first updating step retained, and those that it allocated and freed.
struct PartOfStep {
  std::string name; // "unscale_and_clip_grads"
  replay::Step step = replay::Step::none;
  std::int64_t kept = 0;
  std::int64_t transient = 0;
};

struct Explanation {
  ProcessAnalysis* analysis = nullptr;
  replay::MemoryId memory = 0;
  std::uint64_t parameters = 0;
  std::string setup; // "AdamW foreach=True, float32, 4 ranks"
  replay::Step step = replay::Step::none;
  std::vector<KeptRow> kept;      // alive when the last update ended, the largest first
  std::vector<KeptRow> transient; // alive at the peak of tensors, but not when the last update ended
  std::vector<PartOfStep> parts;  // as the training engine marks them, in time order
  std::optional<double> theory;   // theoretical bytes per parameter of the retained rows
  std::uint64_t beside = 0;       // live bytes that no row has: Python, libraries, small blocks
  replay::Holdings beside_blocks; // the blocks of `beside` that were recorded, the largest first
  std::uint64_t reserved = 0;     // of `beside`: reservations that were never touched
  std::uint64_t alive = 0;        // live bytes when the last update ended, without such reservations
  std::int64_t unaccounted = 0;   // bytes of tensors that no row has
  std::uint64_t pinned_idle = 0;  // pinned bytes that are in the allocator's cache and in no tensor

  double per_parameter(double bytes) const { return bytes / static_cast<double>(parameters); }
  double per_parameter(std::uint64_t bytes) const { return per_parameter(static_cast<double>(bytes)); }
  double per_parameter(std::int64_t bytes) const { return per_parameter(static_cast<double>(bytes)); }
  std::uint64_t kept_bytes() const; // Returns the resident bytes of `kept`.
  // Returns the bytes of the rows that belong to the model, by role: parameters, gradients, states, master
  // copies, buffers. Those of an engine that have no such role are under `staging`.
  std::map<replay::Role, std::uint64_t> model_bytes() const;
  std::uint64_t model_sum() const;
  // True if the model is at least half of what is alive. Else bytes per parameter say little of the process.
  bool model_leads() const;
};

// Returns the rows of `memory` after the last update. `parameters` overrides the number found in the trace.
// Throws NothingToShow if the trace has no parameters or no update.
Explanation explain(ProcessAnalysis& analysis, replay::MemoryId memory,
                    std::optional<std::uint64_t> parameters);
} // namespace memtrace::report
