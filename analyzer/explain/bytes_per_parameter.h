// Purpose: what a training run keeps for each parameter, line by line, against theory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

// What is alike in role, kind, and phase and step of birth. Of what has no role, one site.
struct KeptRow {
  enum class Retention : std::uint8_t { live, freed, kept_by_malloc };
  Retention state = Retention::live;
  std::string name; // the role; else the kind
  replay::Role role = replay::Role::unknown;
  format::Kind kind = format::Kind::none;
  bool tensors = false;
  std::uint64_t asked = 0;    // bytes; of what no framework asked for, as given
  std::uint64_t bytes = 0;    // as given: with what the allocator rounds up to
  std::uint64_t resident = 0; // of these in memory
  std::uint64_t late = 0;     // of these: came into memory later than the rest of their block
  std::string late_phase;     // where most of it did
  replay::Step late_step = replay::Step::none;
  std::uint64_t largest = 0;  // bytes of the site that has most
  std::uint64_t lifetime = 0; // ns, of that site's blocks
  std::size_t sites = 0;
  std::string phase; // of birth
  replay::Step step = replay::Step::none;
  format::StackId stack{};      // the site that has most
  std::optional<double> theory; // bytes per parameter; none: there is none
};

// What a part of the step that first updated left behind, and took meanwhile: bytes that were live.
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
  std::vector<KeptRow> kept;      // when the last update ended, the largest first
  std::vector<KeptRow> transient; // alive at the peak of tensors and not then
  std::vector<PartOfStep> parts;  // as an engine marks them, in their order
  std::optional<double> theory;   // of what is kept
  std::uint64_t beside = 0;       // live bytes that go with no parameter: Python, libraries, small blocks
  std::int64_t unaccounted = 0;   // bytes of tensors that no row has
  std::uint64_t pinned_idle = 0;  // of what is pinned: in its allocator's cache and in no tensor

  double per_parameter(double bytes) const { return bytes / static_cast<double>(parameters); }
  double per_parameter(std::uint64_t bytes) const { return per_parameter(static_cast<double>(bytes)); }
  double per_parameter(std::int64_t bytes) const { return per_parameter(static_cast<double>(bytes)); }
  std::uint64_t kept_bytes() const; // in memory
};

// `parameters` overrides the count that was found. Throws NothingToShow where no parameters were seen,
// or no update.
Explanation explain(ProcessAnalysis& analysis, replay::MemoryId memory,
                    std::optional<std::uint64_t> parameters);
} // namespace memtrace::report
