// Purpose: the group of a block, with its role. A pass asks for it when the block dies, because the role is
// known only then.
#include "analyzer/attribute/block_groups.h"

#include <string_view>

namespace memtrace::replay {

namespace {

// Memory that is locked was made to be pinned, by DeepSpeed's extension for example.
bool is_plain(const Block& block) {
  return !block.tensor && !block.locked &&
         (block.kind == format::Kind::heap || block.kind == format::Kind::mmap_anon);
}

} // namespace

BlockGroups::BlockGroups(const trace::Definitions& definitions, const trace::Facts& facts, Step last_step)
    : askers_(definitions, facts),
      makers_(definitions),
      builders_(definitions, frameworks::kBuilders),
      modules_(definitions),
      last_step_(last_step),
      modules_seen_(facts.parameters.has_value()) {}

HoldingGroup BlockGroups::of_dead(const Block& block, const Phases& phases) {
  return group(block, phases.paths(),
               {false, phases.open(block.born.occurrence), phases.step(), last_step_, modules_seen_});
}

HoldingGroup BlockGroups::of_survivor(const Block& block, const Phases& phases) {
  return group(block, phases.paths(),
               {true, phases.open(block.born.occurrence), phases.step(), phases.step(), modules_seen_});
}

HoldingGroup BlockGroups::of_ended(const Block& block, Fate fate, const Paths& paths) {
  if (!fate.survived) fate.last_step = last_step_;
  return group(block, paths, fate);
}

void BlockGroups::settle(HoldingGroup& group) const {
  if (!group.guessed) return;
  group.guessed = false;
  const Label said = roles_.of(group.stack, group.path);
  if (said.role == Role::unknown) return;
  group.role = said.role;
  group.name = said.name;
}

HoldingGroup BlockGroups::group(const Block& block, const Paths& paths, const Fate& fate) {
  HoldingGroup group;
  group.stack = block.stack;
  group.kind = block.locked ? format::Kind::registered : block.kind;
  group.tensor = block.tensor;
  group.sampled = block.sampled;
  say_role(group, block, fate);
  group.made_as = made_as(block);
  group.path = block.born.path;
  group.phase = paths.last(group.path);
  group.known = block.born.known;
  group.step = block.born.step;
  group.module = modules_.shared(block.module);
  return group;
}

void BlockGroups::say_role(HoldingGroup& group, const Block& block, const Fate& fate) {
  // Every tensor that is saved is labelled a checkpoint. The role that it had before tells more.
  const bool saved = block.label == Role::checkpoint;
  if (block.label != Role::unknown && !saved) {
    group.role = block.label;
    group.name = label_of(block).name;
  } else if (block.kind == format::Kind::context) {
    group.role = Role::context;
  } else if (group.role = made_for(block); group.role != Role::unknown) {
    group.guessed = block.tensor;
  } else if (saved) {
    // The recorder does not know a module that never ran. Its tensors are parameters by their birth.
    const Role birth = block.born.known == KnownPhase::load ? role_of(block.born, fate) : Role::unknown;
    group.role = birth == Role::parameter ? birth : block.label;
  } else if (block.tensor) {
    group.role = role_of(block.born, fate);
    group.guessed = group.role == Role::unknown;
    // A weight that was replaced before the recorder saw its module, as by quantisation.
    if (group.guessed && block.born.known == KnownPhase::load) group.role = builders_.role(block.stack);
  } else if (block.memory != 0) {
    group.role = askers_.role(block.stack);
  }
}

// Returns the role by the function that made the block. A function may make things that are not tensors, too. A
// plain block is not a tensor, and is in the heap or an anonymous mapping. It gets a role only if it is in the
// heap and made to be written or packed. An anonymous mapping gets none: any function may be the first to find
// an allocator's arena full and map the next.
Role BlockGroups::made_for(const Block& block) {
  const Role role = makers_.role(block.stack);
  if (!is_plain(block)) return role;
  const bool to_fill =
      role == Role::checkpoint || makers_.name(block.stack) == std::string_view(frameworks::kPacked);
  return to_fill && block.kind == format::Kind::heap ? role : Role::unknown;
}

const char* BlockGroups::made_as(const Block& block) {
  if (!block.tensor && block.memory != 0) return askers_.name(block.stack);
  return made_for(block) == Role::unknown ? "" : makers_.name(block.stack);
}

} // namespace memtrace::replay
