// Purpose: a position in the course of training: a path of phases and a step.
// Runs: in the drain and, when its ring is full, on the program's thread.
#pragma once

#include "preload/rollup/dense_table.h"

namespace memtrace::rollup {

// The number of a training step + 1; 0: before any step. All steps from number 2^32 - 2 on have one id.
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

// The phases whose names decide how steps are counted.
enum class CountedPhase : std::uint8_t { none, forward, recompute, backward, step, eval };

// Names of nested phases, outermost first.
class PhasePaths {
 public:
  // Returns the path of `name` below `parent`, or `parent` if there is no room for another path.
  PathIndex below(const Host& host, PathIndex parent, format::TextId name);
  CountedPhase known(PathIndex path) const { return path == 0 ? CountedPhase::none : nodes_[path - 1u].known; }
  static format::TextId text(PathIndex path) {
    return format::TextId{path == 0 ? 0 : kPathTexts + static_cast<std::uint32_t>(path)};
  }
  // Writes the texts of the paths that are not written yet.
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
  char text_[4096] = {}; // the text of one path; a longer text loses its innermost names
};

} // namespace memtrace::rollup
