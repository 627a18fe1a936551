// Purpose: writes a call tree as memtrace.tree/1.
#include "analyzer/print/json/tree_json.h"

#include "analyzer/print/json/site_json.h"

namespace memtrace::report {
namespace {

Json node_json(const CallTree& tree, std::size_t number) {
  const CallNode& node = tree.nodes[number];
  Json out = {{"id", number}, {"parent", number == 0 ? Json(nullptr) : Json(node.parent)}};
  if (number != 0) out.update(frame_json(tree.frames.at(node.frame)));
  out.update({{"bytes", node.bytes},
              {"blocks", node.blocks},
              {"self_bytes", node.self_bytes},
              {"self_blocks", node.self_blocks}});
  return out;
}

} // namespace

Json tree_json(const ProcessAnalysis& analysis, const HeldBlocks& held, const CallTree& tree,
               const std::string& finding) {
  const replay::Peak& peak = peak_of(analysis, held.peak);
  Json nodes = Json::array();
  for (std::size_t number = 0; number < tree.nodes.size(); ++number) nodes.push_back(node_json(tree, number));
  return {{"schema", "memtrace.tree/1"},
          {"pid", analysis.facts().pid},
          {"memory", memory_name(held.peak.memory)},
          {"measure", held.peak.measure == replay::Measure::tensor ? "tensor" : "live"},
          {"finding", finding.empty() ? Json(nullptr) : Json(finding)},
          {"at", held.at_end ? "end" : "peak"},
          {"t", peak.bucket ? Json(nullptr) : Json(analysis.seconds(peak.stamp))},
          {"phase", analysis.account.paths.text(analysis.account.paths.last(peak.path))},
          {"step", step_json(peak.step)},
          {"total", held.total},
          {"hidden_frames", tree.hidden},
          {"nodes", std::move(nodes)}};
}

} // namespace memtrace::report
