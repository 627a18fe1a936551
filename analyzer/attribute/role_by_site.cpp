// Purpose: the role of a block, taken from the labels of other blocks of its site.
#include "analyzer/attribute/role_by_site.h"

namespace memtrace::replay {
namespace {

std::uint64_t site_key(format::StackId stack, PathId path) {
  return std::uint64_t{static_cast<std::uint32_t>(stack)} << 32 | static_cast<std::uint32_t>(path);
}

} // namespace

Label label_of(const Block& block) {
  const bool named =
      block.label == Role::optimizer_state || block.label == Role::staging || block.label == Role::comm;
  return {block.label, named ? block.name : format::TextId{}};
}

void SiteRoles::add(const Block& block) {
  const Label label = label_of(block);
  const auto [at, fresh] = labels_.try_emplace(site_key(block.stack, block.born.path), label);
  if (fresh) return;
  if (at->second.role != label.role) at->second = {}; // ambiguous
  if (at->second.name != label.name) at->second.name = {};
}

Label SiteRoles::of(format::StackId stack, PathId path) const {
  const auto at = labels_.find(site_key(stack, path));
  return at == labels_.end() ? Label{} : at->second;
}

} // namespace memtrace::replay
