// Purpose: `memtrace tree`.
#include "analyzer/cli/commands/tree_command.h"

#include <algorithm>
#include <optional>

#include "analyzer/cli/common/main_process.h"
#include "analyzer/findings/all_findings.h"
#include "analyzer/print/json/tree_json.h"
#include "analyzer/print/text/tree_text.h"

namespace memtrace::cli {
namespace {

// The findings with one id: a leak has one for each site.
struct AskedFinding {
  replay::MemoryId memory = 0;
  std::string text; // "leak-per-step: TITLE"
  std::vector<format::StackId> stacks;
  std::optional<replay::Measure> measure; // of the finding's bytes; nullopt: that of the leading peak
};

std::string ids_of(const report::Findings& findings) {
  std::vector<std::string> ids;
  for (const report::Finding& one : findings)
    if (std::find(ids.begin(), ids.end(), one.id) == ids.end()) ids.push_back(one.id);
  std::string out;
  for (const std::string& id : ids) out += (out.empty() ? "" : ", ") + id;
  return out;
}

AskedFinding finding_named(const report::Findings& findings, const TreeArguments& arguments) {
  const std::string option = "--finding " + arguments.finding;
  std::optional<AskedFinding> out;
  for (const report::Finding& one : findings) {
    if (one.id != arguments.finding) continue;
    if (!arguments.memory.empty() && report::memory_name(one.memory) != arguments.memory) continue;
    if (!out) out = AskedFinding{one.memory, one.id + ": " + one.title, {}, {}};
    if (one.memory != out->memory) continue;
    out->stacks.insert(out->stacks.end(), one.stacks.begin(), one.stacks.end());
    if (!one.stacks.empty() || one.site == format::StackId{}) continue;
    out->stacks.push_back(one.site);
    if (one.saving) out->measure = one.saving->measure;
  }
  if (!out)
    throw report::UsageError(option + (findings.empty() ? ": this trace has no findings"
                                                        : ": not in this trace; it has " + ids_of(findings)));
  if (out->stacks.empty())
    throw report::UsageError(option + ": it is about the process, and its blocks have no stacks");
  return *out;
}

std::int64_t least_bytes(const LeastSize& least, std::int64_t total) {
  if (least.bytes >= 0) return least.bytes;
  return static_cast<std::int64_t>(static_cast<double>(total) * least.percent / 100);
}

std::string written(const TreeArguments& arguments, report::ProcessAnalysis& analysis) {
  report::HeldBlocks held;
  report::TreeQuestion question{.inverted = arguments.bottom_up};
  if (arguments.finding.empty()) {
    held =
        report::held_at_peak(analysis, report::leading_peak(analysis, memory_of(analysis, arguments.memory)));
  } else {
    const AskedFinding asked = finding_named(report::find(analysis), arguments);
    question.finding = asked.text;
    report::LeadingPeak peak = report::leading_peak(analysis, asked.memory);
    peak.measure = asked.measure.value_or(peak.measure);
    held = report::held_by(analysis, peak, asked.stacks);
  }
  const report::CallTree tree =
      report::call_tree(analysis, held, {.inverted = arguments.bottom_up, .all_frames = arguments.all_frames});
  if (arguments.format == "json")
    return report::json_text(report::tree_json(analysis, held, tree, arguments.finding)) + "\n";
  question.limits = {least_bytes(arguments.least, held.total), arguments.depth, arguments.bottom_up};
  return report::tree_text(analysis, held, tree, question, screen_of(arguments.output));
}

} // namespace

int tree_command(const TreeArguments& arguments) {
  return answer(arguments.output, [&](Meter& meter) {
    const auto analysis = main_view(arguments.trace, meter);
    return written(arguments, *analysis);
  });
}

} // namespace memtrace::cli
