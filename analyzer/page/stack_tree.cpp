// Purpose: the stacks of a page as one tree, and the texts that its nodes have in common.
#include "analyzer/page/stack_tree.h"

#include <algorithm>

#include "analyzer/calltree/shown_frames.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

constexpr std::size_t kMostText = 4096; // bytes: C++ has names of megabytes
enum NodeFlag : std::uint8_t { kPython = 1, kOwn = 2, kHidden = 4 };

} // namespace

std::uint32_t PageTexts::number(std::string_view text) {
  const auto [at, is_new] =
      numbers_.try_emplace(std::string(text.substr(0, kMostText)), static_cast<std::uint32_t>(ends_.size()));
  if (is_new) {
    bytes_ += printable(at->first);
    ends_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  }
  return at->second;
}

void PageTexts::write(PageBlock& block) const {
  std::vector<std::uint32_t> offsets{0};
  offsets.insert(offsets.end(), ends_.begin(), ends_.end());
  block.add("strings.offset", offsets);
  block.add("strings.bytes", std::vector<std::uint8_t>(bytes_.begin(), bytes_.end()));
}

std::size_t StackTree::NodeHash::operator()(const NodeKey& key) const {
  std::uint64_t hash = key.parent;
  for (const std::uint64_t part : {key.function, key.file, key.line}) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  return static_cast<std::size_t>(hash);
}

StackTree::StackTree(symbols::Symbolizer& symbolizer, PageTexts& texts)
    : symbolizer_(symbolizer), texts_(texts), parents_{0}, functions_{0}, files_{0}, lines_{0}, flags_{0} {}

std::uint32_t StackTree::leaf(format::StackId stack) {
  if (stack == format::StackId{}) return 0;
  const std::vector<symbols::SiteFrame>& frames = symbolizer_.site(stack).frames;
  const std::vector<const symbols::SiteFrame*> shown = shown_frames(frames);
  std::uint32_t node = 0;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
    node = below(node, *frame, std::find(shown.begin(), shown.end(), &*frame) == shown.end());
  return node;
}

std::uint32_t StackTree::below(std::uint32_t parent, const symbols::SiteFrame& frame, bool hidden) {
  const std::string file = frame.file.empty() ? std::string(frame.module.substr(frame.module.rfind('/') + 1))
                                              : symbolizer_.shown_path(frame);
  const NodeKey key{parent, texts_.number(function_text(frame)), texts_.number(file), frame.line};
  const auto [at, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(parents_.size()));
  if (!is_new) return at->second;
  parents_.push_back(key.parent);
  functions_.push_back(key.function);
  files_.push_back(key.file);
  lines_.push_back(key.line);
  flags_.push_back(static_cast<std::uint8_t>((frame.python ? kPython : 0) | (frame.own ? kOwn : 0) |
                                             (hidden ? kHidden : 0)));
  return at->second;
}

void StackTree::write(PageBlock& block, const std::string& prefix) const {
  block.add(prefix + "tree.parent", parents_);
  block.add(prefix + "tree.function", functions_);
  block.add(prefix + "tree.file", files_);
  block.add(prefix + "tree.line", lines_);
  block.add(prefix + "tree.flags", flags_);
}

} // namespace memtrace::report
