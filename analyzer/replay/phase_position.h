// Purpose: the step and the phases in which an event happened.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "preload/format/records.h"

namespace memtrace::replay {

// Number of the training step. `none`: before the first step.
enum class Step : std::int64_t { none = -1 };
constexpr Step next(Step step) {
  return static_cast<Step>(static_cast<std::int64_t>(step) + 1);
}

enum class NameId : std::uint32_t { other = 0 };
enum class PathId : std::uint32_t { other = 0 };      // names of nested phases, outermost first
enum class OccurrenceId : std::uint64_t { none = 0 }; // one phase from its begin to its end

// Phases whose name tells the purpose of their memory.
enum class KnownPhase : std::uint8_t { none, load, init, data, forward, loss, recompute, backward, step, eval };

struct PhasePosition {
  PathId path = PathId::other;
  Step step = Step::none;
  KnownPhase known = KnownPhase::none;          // the innermost known phase
  OccurrenceId occurrence = OccurrenceId::none; // the occurrence of that phase
};

// Interns names and paths. A name that is too long is cut. Ids depend only on the order of events, so two
// passes over a trace give equal ids.
class Paths {
 public:
  Paths();
  NameId name(const std::string& text);
  PathId below(PathId parent, NameId name);
  PathId joined(const std::string& names); // names joined by format::kPathJoint, outermost first

  const std::string& text(NameId name) const { return *names_[static_cast<std::size_t>(name)]; }
  NameId last(PathId path) const { return nodes_[static_cast<std::size_t>(path)].name; }
  PathId parent_of(PathId path) const { return nodes_[static_cast<std::size_t>(path)].parent; }
  std::vector<std::string> texts(PathId path) const;                         // {"other"} for PathId::other
  std::size_t bytes() const { return 96 * (names_.size() + nodes_.size()); } // that a copy takes, about

 private:
  struct PathNode {
    PathId parent;
    NameId name;
  };
  std::vector<std::shared_ptr<const std::string>> names_; // all copies share them
  std::unordered_map<std::string_view, NameId> by_text_;
  std::vector<PathNode> nodes_;
  std::unordered_map<std::uint64_t, PathId> by_node_; // parent << 32 | name
};

KnownPhase known_phase(const std::string& name);

} // namespace memtrace::replay
