// Purpose: the role of a block, taken from the labels of other blocks of its site.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "analyzer/replay/block.h"

namespace memtrace::replay {

// A role, and the name of the buffer for roles whose buffers have names of their own. The name of a parameter
// or a gradient is that of one tensor among many, so it is left out.
struct Label {
  Role role = Role::unknown;
  format::TextId name{};
};

// Returns the label of a block. Without one, the role is unknown.
Label label_of(const Block& block);

// The labels of tensors, by stack and phase of birth. Gradients are allocated anew in each step, and only some
// steps are labelled. So a label applies to all blocks of its site.
class SiteRoles {
 public:
  // Takes a block whose label is new. Every tensor that is saved is labelled a checkpoint, so this label does
  // not count.
  void labelled(const Block& block) {
    if (block.tensor && block.label != Role::checkpoint) add(block);
  }
  // Returns an unknown role if the site has no label, or several roles.
  Label of(format::StackId stack, PathId path) const;

 private:
  void add(const Block& block);

  std::unordered_map<std::uint64_t, Label> labels_; // by stack and path
};

} // namespace memtrace::replay
