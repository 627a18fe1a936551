// Purpose: the step and the phases in which an event happened.
#include "analyzer/replay/phase_position.h"

#include <algorithm>
#include <utility>

#include "analyzer/decode/definitions.h"
#include "preload/format/rollup_layout.h"

namespace memtrace::replay {
namespace {

// In bytes. A report prints the name of a phase, and of all phases around it, with each row. A name of 1 MiB,
// nested 128 deep, made a report of 7 GB from a trace of 81 KB.
constexpr std::size_t kLongestPhase = 256;
constexpr std::size_t kMark = 40; // for the mark that a name was cut

} // namespace

Paths::Paths() {
  name("other");
  nodes_.push_back({PathId::other, NameId::other});
}

NameId Paths::name(const std::string& text) {
  if (text.size() > kLongestPhase) return name(trace::shortened_name(text, kLongestPhase - kMark));
  if (const auto known = by_text_.find(text); known != by_text_.end()) return known->second;
  const auto id = static_cast<NameId>(names_.size());
  names_.push_back(std::make_shared<const std::string>(text));
  by_text_.emplace(*names_.back(), id);
  return id;
}

PathId Paths::below(PathId parent, NameId name) {
  const std::uint64_t key = static_cast<std::uint64_t>(parent) << 32 | static_cast<std::uint32_t>(name);
  const auto [at, fresh] = by_node_.try_emplace(key, static_cast<PathId>(nodes_.size()));
  if (fresh) nodes_.push_back({parent, name});
  return at->second;
}

PathId Paths::joined(const std::string& names) {
  constexpr std::size_t kDeepest = 128; // the limit for nested phases
  PathId path = PathId::other;
  std::size_t at = 0;
  for (std::size_t depth = 0; depth < kDeepest && at < names.size(); ++depth) {
    const std::size_t end = std::min(names.find(format::kPathJoint, at), names.size());
    path = below(path, name(names.substr(at, end - at)));
    at = end + 1;
  }
  return path;
}

std::vector<std::string> Paths::texts(PathId path) const {
  std::vector<std::string> names;
  do {
    const PathNode& node = nodes_[static_cast<std::size_t>(path)];
    names.push_back(text(node.name));
    path = node.parent;
  } while (path != PathId::other);
  std::reverse(names.begin(), names.end());
  return names;
}

KnownPhase known_phase(const std::string& name) {
  static constexpr std::pair<const char*, KnownPhase> kNames[] = {
      {"load", KnownPhase::load},         {"init", KnownPhase::init}, {"data", KnownPhase::data},
      {"forward", KnownPhase::forward},   {"loss", KnownPhase::loss}, {"recompute", KnownPhase::recompute},
      {"backward", KnownPhase::backward}, {"step", KnownPhase::step}, {"eval", KnownPhase::eval}};
  for (const auto& [text, known] : kNames) {
    if (name == text) return known;
  }
  return KnownPhase::none;
}

} // namespace memtrace::replay
