// Purpose: the properties that blocks of one row have in common.
#pragma once

#include <cstddef>
#include <cstdint>

#include "analyzer/replay/block.h"

namespace memtrace::replay {

// bytes: smaller tensors of a GPU are not workspaces. To look up the names of their functions would take time.
inline constexpr std::uint64_t kLeastWorkspace = 1 << 20;

struct HoldingGroup {
  format::StackId stack{};
  format::Kind kind{};
  Role role{};
  bool tensor = false;
  bool sampled = false;
  bool guessed = false; // its role is inferred: a label on another block of its site is better
  PathId path{};
  NameId phase{}; // the last of the path
  KnownPhase known{};
  Step step{};
  format::TextId name{};    // of the label: "exp_avg"; set only for buffers of an optimizer or an engine
  format::TextId module{};  // stands for all modules of its pattern (module_patterns.h); 0: none
  const char* made_as = ""; // by the function or the library that made it: "DeepSpeed swap buffer", "cuBLAS"
  bool operator==(const HoldingGroup&) const = default;
};

struct GroupHash {
  std::size_t operator()(const HoldingGroup& group) const {
    std::uint64_t hash = static_cast<std::uint64_t>(group.stack);
    for (const std::uint64_t part :
         {static_cast<std::uint64_t>(group.kind) << 1 | (group.sampled ? 1 : 0),
          static_cast<std::uint64_t>(group.role) << 32 | static_cast<std::uint64_t>(group.name),
          static_cast<std::uint64_t>(group.path), static_cast<std::uint64_t>(group.step),
          static_cast<std::uint64_t>(group.module)}) {
      hash = (hash ^ part) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 29;
    }
    return static_cast<std::size_t>(hash);
  }
};

} // namespace memtrace::replay
