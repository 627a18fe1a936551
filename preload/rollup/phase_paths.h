// Purpose: where in the course of training something happened: a path of phases and a step.
// Runs: in the drain and, when its ring is full, on the program's thread.
#pragma once

#include "preload/rollup/dense_table.h"

namespace memtrace::rollup {

// Number of a training step, plus 1; 0: before any. More than 2^32 - 2 of them are one.
using StepId = std::uint32_t;
inline constexpr StepId kNoStep = 0;
constexpr StepId step_of(std::uint64_t number) {
  return number < 0xFFFFFFFEu ? static_cast<StepId>(number + 1) : 0xFFFFFFFFu;
}

using PathIndex = std::uint16_t; // 0: no phase

struct PhasePlace {
  PathIndex path = 0;
  StepId step = kNoStep;
};

// Phases by whose names steps are counted.
enum class CountedPhase : std::uint8_t { none, forward, recompute, backward, step, eval };

// Names of nested phases, outermost first.
class PhasePaths {
 public:
  // The path of `name` below `parent`; `parent` itself when there is no room for another.
  PathIndex below(const Host& host, PathIndex parent, format::TextId name);
  CountedPhase known(PathIndex path) const { return path == 0 ? CountedPhase::none : nodes_[path - 1u].known; }
  static format::TextId text(PathIndex path) {
    return format::TextId{path == 0 ? 0 : kPathTexts + static_cast<std::uint32_t>(path)};
  }
  // Writes the texts of paths that were not yet.
  void define(const Host& host);
  std::size_t bytes() const { return nodes_.bytes() + sizeof text_; }

 private:
  struct PathEntry {
    format::TextId name;
    PathIndex parent;
    CountedPhase known;
    std::uint64_t hash() const { return mix(static_cast<std::uint32_t>(name), parent); }
    bool same(const PathEntry& other) const { return name == other.name && parent == other.parent; }
  };
  Dense<PathEntry, 64, 4096> nodes_;
  std::uint32_t defined_ = 0;
  char text_[4096] = {}; // of one path; a longer one loses its innermost names
};

} // namespace memtrace::rollup
