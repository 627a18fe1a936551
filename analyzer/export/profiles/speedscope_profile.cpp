// Purpose: writes what was alive at peaks as a file for speedscope.
#include "analyzer/export/profiles/speedscope_profile.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "analyzer/wording/labels.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

using SpeedscopeJson = nlohmann::ordered_json;

std::string line_of(const SpeedscopeJson& value) {
  return value.dump(-1, ' ', false, SpeedscopeJson::error_handler_t::replace);
}

SpeedscopeJson frame_json(const symbols::SiteFrame& frame) {
  SpeedscopeJson out = {{"name", printable(frame.function)}};
  if (frame.line != 0) {
    out["file"] = printable(frame.file);
    out["line"] = frame.line;
  } else if (!frame.module.empty()) {
    out["file"] = printable(frame.module);
  }
  return out;
}

// Collects the frames of all profiles. They are written last, when all are known.
class SpeedscopeFile {
 public:
  explicit SpeedscopeFile(const files::TakePart& take) : take_(take) {}

  void profile(const ProcessAnalysis& analysis, const HeldBlocks& held, const CallTree& tree) {
    take_(first_ ? "" : ",\n");
    first_ = false;
    const std::string measure = held.peak.measure == replay::Measure::tensor ? "tensors" : "allocated";
    take_(fmt::format(
        R"({{"type":"sampled","name":{},"unit":"bytes","startValue":0,"endValue":{},)",
        line_of(memory_name(held.peak.memory) + ", " + measure + " at the peak, " +
                analysis.place(peak_of(analysis, held.peak).path, peak_of(analysis, held.peak).step)),
        held.total));
    const std::vector<std::uint32_t> nodes = nodes_with_blocks(tree);
    take_("\n\"samples\":[");
    for (std::size_t i = 0; i < nodes.size(); ++i) take_((i == 0 ? "\n" : ",\n") + sample(tree, nodes[i]));
    take_("],\n\"weights\":[");
    for (std::size_t i = 0; i < nodes.size(); ++i)
      take_((i == 0 ? "" : ",") + std::to_string(tree.nodes[nodes[i]].self_bytes));
    take_("]}");
  }

  void frames() {
    for (std::size_t id = 0; id < frames_.size(); ++id)
      take_((id == 0 ? "\n" : ",\n") + line_of(frame_json(frames_.at(static_cast<std::uint32_t>(id)))));
  }

 private:
  std::string sample(const CallTree& tree, std::uint32_t node) {
    std::string out = "[";
    for (const std::uint32_t frame : path_to(tree, node))
      out += (out.size() == 1 ? "" : ",") + std::to_string(frames_.add(tree.frames.at(frame)));
    if (node == 0) out += std::to_string(frames_.add(no_stack_frame()));
    return out + "]";
  }

  const files::TakePart& take_;
  FrameTable frames_;
  bool first_ = true;
};

} // namespace

void write_speedscope(ProcessAnalysis& analysis, const std::vector<HeldBlocks>& peaks, std::size_t shown,
                      const files::TakePart& take) {
  SpeedscopeFile file(take);
  take(fmt::format(
      "{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"exporter\":\"memtrace\","
      "\"name\":{},\"activeProfileIndex\":{},\n\"profiles\":[\n",
      line_of(script_and_pid(analysis.facts())), shown));
  for (const HeldBlocks& held : peaks) file.profile(analysis, held, call_tree(analysis, held, {}));
  take("],\n\"shared\":{\"frames\":[");
  file.frames();
  take("]}}\n");
}

} // namespace memtrace::report
