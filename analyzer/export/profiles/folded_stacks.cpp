// Purpose: writes a call tree as folded stacks, one line for each stack.
#include "analyzer/export/profiles/folded_stacks.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/calltree/shown_frames.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

std::string folded_frame(const PlaceNames& places, const symbols::SiteFrame& frame) {
  std::string out = printable(frame.function);
  if (const std::string place = places.of(frame); !place.empty()) out += " (" + place + ")";
  std::replace(out.begin(), out.end(), ';', ',');
  return out;
}

} // namespace

void write_folded(const ProcessAnalysis& analysis, const CallTree& tree, const files::TakePart& take) {
  const PlaceNames places(analysis.facts());
  std::vector<std::string> names;
  for (std::size_t id = 0; id < tree.frames.size(); ++id)
    names.push_back(folded_frame(places, tree.frames.at(static_cast<std::uint32_t>(id))));
  for (const std::uint32_t node : nodes_with_blocks(tree)) {
    std::string stack;
    for (const std::uint32_t frame : path_to(tree, node)) stack += (stack.empty() ? "" : ";") + names[frame];
    take(fmt::format("{} {}\n", stack.empty() ? kNoStack : stack, tree.nodes[node].self_bytes));
  }
}

} // namespace memtrace::report
