// Purpose: numbers the groups and the classes of the blocks that a timeline stores.
#include "analyzer/timeline/class_table.h"

namespace memtrace::replay {

std::uint32_t ClassTable::number(const HoldingGroup& group, MemoryId memory, std::uint64_t given,
                                 std::uint64_t tensor, bool reserved) {
  const std::uint32_t of = group_number(group, memory, reserved);
  const auto [at, is_new] =
      by_class_.try_emplace({of, given, tensor}, static_cast<std::uint32_t>(classes_.size()));
  if (is_new) classes_.push_back({of, memory, given, tensor});
  return at->second;
}

std::uint32_t ClassTable::group_number(const HoldingGroup& group, MemoryId memory, bool reserved) {
  MemoryGroup key{group, memory, reserved};
  key.group.step = Step::none;
  key.group.path = PathId::other;
  key.group.known = KnownPhase::none;
  key.group.module = {};
  const auto [at, is_new] = by_group_.try_emplace(key, static_cast<std::uint32_t>(groups_.size()));
  if (is_new)
    groups_.push_back({group.stack, group.kind, group.role, group.tensor, group.sampled, group.phase,
                       group.name, memory, reserved ? Band::reserved : band(group, memory)});
  return at->second;
}

} // namespace memtrace::replay
