// Purpose: a position in the course of training: a path of phases and a step.
// Runs: in the drain and, when its ring is full, on the program's thread.
#include "preload/rollup/phase_paths.h"

#include "preload/format/rollup_layout.h"

namespace memtrace::rollup {
namespace {

constexpr unsigned kDeepest = 128; // levels of nesting that are distinguished

CountedPhase known_by(const char* name, std::size_t bytes) {
  static constexpr struct {
    const char* name;
    CountedPhase known;
  } kNames[] = {{"forward", CountedPhase::forward},
                {"recompute", CountedPhase::recompute},
                {"backward", CountedPhase::backward},
                {"step", CountedPhase::step},
                {"eval", CountedPhase::eval}};
  for (const auto& entry : kNames)
    if (std::strlen(entry.name) == bytes && std::memcmp(entry.name, name, bytes) == 0) return entry.known;
  return CountedPhase::none;
}

} // namespace

PathIndex PhasePaths::below(const Host& host, PathIndex parent, format::TextId name) {
  const PathEntry key{name, parent, CountedPhase::none};
  const std::uint32_t before = nodes_.size();
  PathEntry* const node = nodes_.find_or_add(host, key);
  if (node == nullptr) return parent;
  if (nodes_.size() != before) {
    char room[16];
    node->known = known_by(room, host.text(name, room, sizeof room));
  }
  return static_cast<PathIndex>(node - &nodes_[0] + 1);
}

void PhasePaths::define(const Host& host) {
  for (; defined_ < nodes_.size(); ++defined_) {
    std::uint16_t names[kDeepest];
    unsigned depth = 0;
    for (std::uint32_t path = defined_ + 1; path != 0 && depth < kDeepest; path = nodes_[path - 1].parent)
      names[depth++] = static_cast<std::uint16_t>(path);
    std::size_t bytes = 0;
    while (depth != 0 && bytes + 1 < sizeof text_) {
      if (bytes != 0) text_[bytes++] = format::kPathJoint;
      bytes += host.text(nodes_[names[--depth] - 1u].name, text_ + bytes, sizeof text_ - bytes);
    }
    host.define(text(static_cast<PathIndex>(defined_ + 1)), text_, bytes);
  }
}

} // namespace memtrace::rollup
