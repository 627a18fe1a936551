// Purpose: folds a call tree to the lines that a reader can take in. The leaves add up to the whole.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/calltree/call_tree.h"
#include "analyzer/symbols/library_folders.h"

namespace memtrace::report {

struct TreeLine {
  enum class LineKind : std::uint8_t {
    call,
    itself,   // the blocks of the call above, which also has calls
    small,    // `count` calls below the call above, each smaller than the limit; 1: and of its own blocks
    no_stack, // blocks without a stack
  };
  LineKind kind = LineKind::call;
  std::size_t depth = 0;  // number of branches above
  bool branch = false;    // the first line of a branch; else the only call of the line above
  std::uint32_t node = 0; // of the call, or of the call above
  std::int64_t bytes = 0;
  std::uint64_t blocks = 0;
  std::size_t count = 0; // call: number of calls between the line above and this one that are not shown
  bool own = false;      // call: in the user's own Python code
  bool leaf = true;      // false: lines below divide these bytes
};

struct TreeLimits {
  std::int64_t least = 0;   // bytes: smaller calls share a line
  std::size_t depth = 1000; // branches are shown to this depth
  bool inverted = false;    // the tree is: its allocations are shown, too
};

// A chain of calls with one caller each becomes the calls in the user's own code and the last call. In an
// inverted tree, these and the first call.
std::vector<TreeLine> tree_lines(const CallTree& tree, const TreeLimits& limits);

} // namespace memtrace::report
