// Purpose: merges the stacks of blocks into a tree of calls.
#include "analyzer/calltree/call_tree.h"

#include <algorithm>
#include <functional>

#include "analyzer/calltree/shown_frames.h"
#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::report {
namespace {

using symbols::SiteFrame;

class TreeBuilder {
 public:
  TreeBuilder(ProcessAnalysis& analysis, const TreeForm& form) : analysis_(analysis), form_(form) {
    tree_.nodes.emplace_back();
  }

  void add(const HeldGroup& group) {
    std::uint32_t at = 0;
    count(at, group);
    if (group.stack != format::StackId{}) {
      const std::vector<SiteFrame>& all = analysis_.symbolizer->site(group.stack).frames;
      frames_.clear();
      if (form_.all_frames)
        for (const SiteFrame& frame : all) frames_.push_back(&frame);
      else
        note_hidden(all, frames_ = shown_frames(all));
      if (!form_.inverted) std::reverse(frames_.begin(), frames_.end());
      for (const SiteFrame* const frame : frames_) count(at = below(at, *frame), group);
    } else {
      tree_.no_stack_bytes = replay::wrapping_add(tree_.no_stack_bytes, group.bytes);
    }
    tree_.nodes[at].self_bytes = replay::wrapping_add(tree_.nodes[at].self_bytes, group.bytes);
    tree_.nodes[at].self_blocks += group.blocks;
  }

  CallTree take() && {
    for (CallNode& node : tree_.nodes)
      std::stable_sort(node.children.begin(), node.children.end(), [this](std::uint32_t a, std::uint32_t b) {
        return tree_.nodes[a].bytes > tree_.nodes[b].bytes;
      });
    tree_.hidden = hidden_.size();
    return std::move(tree_);
  }

 private:
  void count(std::uint32_t node, const HeldGroup& group) {
    tree_.nodes[node].bytes = replay::wrapping_add(tree_.nodes[node].bytes, group.bytes);
    tree_.nodes[node].blocks += group.blocks;
  }

  std::uint32_t below(std::uint32_t parent, const SiteFrame& frame) {
    const std::uint32_t id = tree_.frames.add(frame);
    const auto fresh = static_cast<std::uint32_t>(tree_.nodes.size());
    const auto [at, made] = children_.try_emplace(std::uint64_t{parent} << 32 | id, fresh);
    if (made) {
      tree_.nodes.push_back({.frame = id, .parent = parent});
      tree_.nodes[parent].children.push_back(fresh);
    }
    return at->second;
  }

  // `shown` has pointers into `all`, in the same order.
  void note_hidden(const std::vector<SiteFrame>& all, const std::vector<const SiteFrame*>& shown) {
    auto next = shown.begin();
    for (const SiteFrame& frame : all) {
      if (next != shown.end() && *next == &frame)
        ++next;
      else
        hidden_.add(frame);
    }
  }

  ProcessAnalysis& analysis_;
  const TreeForm form_;
  CallTree tree_;
  FrameTable hidden_;
  std::vector<const SiteFrame*> frames_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_; // by parent << 32 | frame
};

} // namespace

symbols::SiteFrame no_stack_frame() {
  SiteFrame out;
  out.function = kNoStack;
  return out;
}

std::size_t FrameTable::FrameHash::operator()(const SiteFrame& frame) const {
  const std::hash<std::string_view> hash;
  std::size_t out = hash(frame.function);
  out = out * 31 + hash(frame.file);
  out = out * 31 + frame.line;
  return out * 31 + hash(frame.module);
}

bool FrameTable::FrameEqual::operator()(const SiteFrame& a, const SiteFrame& b) const {
  return std::tie(a.function, a.file, a.line, a.module) == std::tie(b.function, b.file, b.line, b.module);
}

std::uint32_t FrameTable::add(const SiteFrame& frame) {
  const auto [at, fresh] = ids_.try_emplace(frame, static_cast<std::uint32_t>(frames_.size()));
  if (fresh) frames_.push_back(frame);
  return at->second;
}

CallTree call_tree(ProcessAnalysis& analysis, const HeldBlocks& held, const TreeForm& form) {
  TreeBuilder builder(analysis, form);
  for (const HeldGroup& group : held.groups) builder.add(group);
  return std::move(builder).take();
}

std::vector<std::uint32_t> path_to(const CallTree& tree, std::uint32_t node) {
  std::vector<std::uint32_t> out;
  for (; node != 0; node = tree.nodes[node].parent) out.push_back(tree.nodes[node].frame);
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<std::uint32_t> nodes_with_blocks(const CallTree& tree) {
  std::vector<std::uint32_t> out, waiting{0};
  while (!waiting.empty()) {
    const std::uint32_t node = waiting.back();
    waiting.pop_back();
    const CallNode& at = tree.nodes[node];
    if (at.self_bytes != 0 || at.self_blocks != 0) out.push_back(node);
    waiting.insert(waiting.end(), at.children.rbegin(), at.children.rend());
  }
  return out;
}

} // namespace memtrace::report
