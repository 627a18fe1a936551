// Purpose: the stacks of a page as one tree, and the texts that its nodes have in common.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/page/page_block.h"
#include "analyzer/symbols/symbolizer.h"

namespace memtrace::report {

// Numbers texts, from 0, which is "".
class PageTexts {
 public:
  PageTexts() { number(""); }
  std::uint32_t number(std::string_view text);
  void write(PageBlock& block) const;

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<std::uint32_t> ends_;
  std::string bytes_;
};

// A parent has a lower number than its children. Node 0 is the root.
class StackTree {
 public:
  StackTree(symbols::Symbolizer& symbolizer, PageTexts& texts);

  // Returns the node of the innermost frame. Returns the root for no stack.
  std::uint32_t leaf(format::StackId stack);
  void write(PageBlock& block, const std::string& prefix) const;

 private:
  struct NodeKey {
    std::uint32_t parent, function, file, line;
    bool operator==(const NodeKey&) const = default;
  };
  struct NodeHash {
    std::size_t operator()(const NodeKey& key) const;
  };
  std::uint32_t below(std::uint32_t parent, const symbols::SiteFrame& frame, bool hidden);

  symbols::Symbolizer& symbolizer_;
  PageTexts& texts_;
  std::unordered_map<NodeKey, std::uint32_t, NodeHash> numbers_;
  std::vector<std::uint32_t> parents_, functions_, files_, lines_;
  std::vector<std::uint8_t> flags_;
};

} // namespace memtrace::report
