// Purpose: folds a call tree to the lines that a reader can take in. The leaves add up to the whole.
#include "analyzer/calltree/tree_lines.h"

#include <cstdlib>

#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::report {
namespace {

using Kind = TreeLine::LineKind;

class TreeFolder {
 public:
  TreeFolder(const CallTree& tree, const TreeLimits& limits) : tree_(tree), limits_(limits) {}

  std::vector<TreeLine> fold() {
    divide(0, 0);
    while (!waiting_.empty()) {
      const TreeLine next = waiting_.back();
      waiting_.pop_back();
      if (next.kind == Kind::call)
        chain(next);
      else
        lines_.push_back(next);
    }
    return std::move(lines_);
  }

 private:
  // A stack may be thousands of calls deep, so the walk keeps what comes next in `waiting_`, the last line
  // first.
  void divide(std::uint32_t node, std::size_t depth) {
    const CallNode& at = tree_.nodes[node];
    std::vector<TreeLine> below;
    TreeLine small{.kind = Kind::small, .depth = depth, .branch = true, .node = node};
    std::uint32_t only = 0; // the last of the small calls
    for (const std::uint32_t child : at.children) {
      const CallNode& call = tree_.nodes[child];
      if (call.bytes >= limits_.least || call.bytes < 0) {
        below.push_back(
            {.depth = depth, .branch = true, .node = child, .bytes = call.bytes, .blocks = call.blocks});
        continue;
      }
      ++small.count;
      only = child;
      small.bytes = replay::wrapping_add(small.bytes, call.bytes);
      small.blocks += call.blocks;
    }
    const bool itself = node != 0 && at.self_bytes != 0;
    if (itself && small.count != 0 && at.self_bytes < limits_.least) {
      small.bytes = replay::wrapping_add(small.bytes, at.self_bytes);
      small.blocks += at.self_blocks;
    } else if (at.self_bytes != 0) {
      below.push_back({.kind = node == 0 ? Kind::no_stack : Kind::itself,
                       .depth = depth,
                       .branch = true,
                       .node = node,
                       .bytes = at.self_bytes,
                       .blocks = at.self_blocks});
    }
    if (small.count == 1 && small.bytes == tree_.nodes[only].bytes)
      below.push_back(
          {.depth = depth, .branch = true, .node = only, .bytes = small.bytes, .blocks = small.blocks});
    else if (small.count != 0)
      below.push_back(small);
    waiting_.insert(waiting_.end(), below.rbegin(), below.rend());
  }

  bool own(std::uint32_t node) const { return tree_.frames.at(tree_.nodes[node].frame).own; }

  // True if lines below the call say more than the call itself.
  bool divides(std::uint32_t node, std::size_t depth) const {
    const CallNode& at = tree_.nodes[node];
    if (depth + 1 >= limits_.depth) return false;
    for (const std::uint32_t child : at.children)
      if (tree_.nodes[child].bytes >= limits_.least) return true;
    return false;
  }

  // Writes the calls from this one to the last that is not divided.
  void chain(const TreeLine& first) {
    TreeLine line = first;
    for (;;) {
      const CallNode& at = tree_.nodes[line.node];
      const bool last = at.children.size() != 1 || at.self_bytes != 0;
      line.own = own(line.node);
      const bool divided = last && divides(line.node, line.depth);
      const bool allocation = limits_.inverted && at.parent == 0;
      if (last || line.own || allocation) {
        line.leaf = last && !divided;
        lines_.push_back(line);
        line.branch = false;
        line.count = 0;
      } else {
        ++line.count;
      }
      if (divided) divide(line.node, line.depth + 1);
      if (last) return;
      line.node = at.children.front();
    }
  }

  const CallTree& tree_;
  const TreeLimits limits_;
  std::vector<TreeLine> waiting_; // the next line is the last
  std::vector<TreeLine> lines_;
};

} // namespace

std::vector<TreeLine> tree_lines(const CallTree& tree, const TreeLimits& limits) {
  return TreeFolder(tree, limits).fold();
}

} // namespace memtrace::report
