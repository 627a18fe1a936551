// Purpose: finds a copy of the parameters that stays after it was loaded.
#include "analyzer/findings/peak/parameter_copy.h"

#include <fmt/core.h>

#include <map>
#include <string>

#include "analyzer/explain/block_owner.h"
#include "analyzer/explain/thresholds.h"
#include "analyzer/findings/common/finding_at_peak.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using replay::Measure;
using replay::MemoryId;

constexpr std::uint64_t kAlike = 50; // the sizes differ by at most 1 part in 50: a state dict has buffers, too

bool as_large(std::uint64_t bytes, std::uint64_t parameters) {
  const std::uint64_t distance = bytes > parameters ? bytes - parameters : parameters - bytes;
  return distance <= parameters / kAlike;
}

// Returns the tensors of state dicts that each line of the program read.
std::map<std::string, SiteTotals> state_dicts(ProcessAnalysis& analysis, const replay::Holdings& alive) {
  std::map<std::string, SiteTotals> out;
  for (const replay::Holding& holding : alive) { // largest first
    if (owner_of(analysis, holding).role != replay::Role::staging) continue;
    if (holding.stack == format::StackId{}) continue;
    const symbols::Site& site = analysis.symbolizer->site(holding.stack);
    out[site.line()].add(analysis, holding);
  }
  return out;
}

std::optional<Finding> judge_copy(const ProcessAnalysis& analysis, MemoryId memory, const std::string& line,
                                  const SiteTotals& copy, const replay::Without& without) {
  const replay::Peak& peak = analysis.account.peaks.at(memory).tensor;
  const std::int64_t saved = replay::wrapping_sub(peak.bytes, without.peak);
  if (!worthwhile(saved, peak.bytes)) return std::nullopt;
  Finding finding = finding_at(analysis, "parameter-copy", memory, peak);
  set_blocks(finding, copy);
  finding.title = fmt::format("A state dict of {}{} is still held beside the model, at {}", sized(copy.bytes),
                              times_parameters(analysis, copy.bytes), line);
  finding.evidence = {
      fmt::format("{} bytes in {} tensors that were read from a checkpoint, alive at the peak of {} bytes",
                  copy.bytes, copy.blocks, peak.bytes),
      fmt::format("the parameters have {} bytes", analysis.facts().parameters->bytes),
      fmt::format("the peak would be {} bytes without them", without.peak)};
  finding.sentences = {fmt::format("The peak of tensors is {} {}; without the copy {}.", size(peak.bytes),
                                   analysis.place(peak.path, peak.step), size(without.peak))};
  finding.remedy = fmt::format(
      "del the state dict once it is loaded: -{} at the peak; or load_state_dict(torch.load(file, mmap=True), "
      "assign=True), which makes no copy",
      size(saved));
  finding.no_remedy = "torch.cuda.empty_cache() or gc.collect(): a name of the program still refers to it";
  return finding;
}

void propose_copy_in(ProcessAnalysis& analysis, MemoryId memory, PeakCandidates& out) {
  const replay::Peak& peak = analysis.account.peaks.at(memory).tensor;
  const auto& parameters = analysis.facts().parameters;
  if (!parameters || peak.bytes <= 0 || peak.bucket || peak.step == replay::Step::none) return;
  for (const auto& [line, copy] : state_dicts(analysis, analysis.set({memory, Measure::tensor, peak.at}))) {
    if (!as_large(copy.bytes, parameters->bytes)) continue;
    out.push_back({{.memory = memory, .stacks = copy.stacks},
                   [&analysis, memory, line = line, copy = copy](const replay::Without& without) {
                     return judge_copy(analysis, memory, line, copy, without);
                   }});
  }
}

} // namespace

PeakCandidates propose_parameter_copy(ProcessAnalysis& analysis) {
  return in_each_memory(analysis, propose_copy_in);
}

} // namespace memtrace::report
