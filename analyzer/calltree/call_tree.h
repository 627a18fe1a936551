// Purpose: merges the stacks of blocks into a tree of calls.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyzer/calltree/held_blocks.h"

namespace memtrace::report {

// The frame that profiles give to blocks without a stack.
inline constexpr char kNoStack[] = "(no stack: small blocks, counted exactly)";
symbols::SiteFrame no_stack_frame();

// Numbers distinct frames from 0, in the order in which they were added. Frames are equal if their function,
// file, line and module are. The names are valid as long as the symbolizer.
class FrameTable {
 public:
  std::uint32_t add(const symbols::SiteFrame& frame);
  const symbols::SiteFrame& at(std::uint32_t id) const { return frames_[id]; }
  std::size_t size() const { return frames_.size(); }

 private:
  struct FrameHash {
    std::size_t operator()(const symbols::SiteFrame& frame) const;
  };
  struct FrameEqual {
    bool operator()(const symbols::SiteFrame& a, const symbols::SiteFrame& b) const;
  };
  std::vector<symbols::SiteFrame> frames_;
  std::unordered_map<symbols::SiteFrame, std::uint32_t, FrameHash, FrameEqual> ids_;
};

struct CallNode {
  std::uint32_t frame = 0; // in CallTree::frames
  std::uint32_t parent = 0;
  std::int64_t bytes = 0; // with all calls below
  std::uint64_t blocks = 0;
  std::int64_t self_bytes = 0; // of the blocks whose stack ends here
  std::uint64_t self_blocks = 0;
  std::vector<std::uint32_t> children{}; // largest first
};

// Node 0 is the root, which has no frame. A parent comes before its children.
struct CallTree {
  FrameTable frames;
  std::vector<CallNode> nodes;
  std::int64_t no_stack_bytes = 0; // self bytes of the root: of blocks without a stack
  std::size_t hidden = 0;          // distinct frames that were left out
};

struct TreeForm {
  bool inverted = false;  // from the allocation to its callers
  bool all_frames = true; // false: without the frames that shown_frames() leaves out
};

// Memory grows with the distinct paths of the stacks. The tree is equal in every run.
CallTree call_tree(ProcessAnalysis& analysis, const HeldBlocks& held, const TreeForm& form);

// Returns the frames from the outermost call to `node`, without the root.
std::vector<std::uint32_t> path_to(const CallTree& tree, std::uint32_t node);

// Gives each node with blocks of its own, in the order of a walk that visits the largest call first.
std::vector<std::uint32_t> nodes_with_blocks(const CallTree& tree);

} // namespace memtrace::report
