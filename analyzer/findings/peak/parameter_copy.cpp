// Purpose: finds a copy of the parameters that stays after it was loaded.
#include "analyzer/findings/peak/parameter_copy.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "analyzer/explain/block_owner.h"
#include "analyzer/explain/leading_peak.h"
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

// Returns the GPU that has the most of the parameters, if the GPUs together have them all, else nullopt.
std::optional<MemoryId> gpu_of_parameters(const ProcessAnalysis& analysis, std::uint64_t parameters) {
  std::uint64_t sum = 0, most = 0;
  std::optional<MemoryId> out;
  for (const auto& [memory, peaks] : analysis.account.peaks) {
    if (memory == 0) continue;
    std::uint64_t bytes = 0;
    for (const replay::Holding& one : analysis.set({memory, Measure::tensor, peaks.tensor.at}))
      if (one.role == replay::Role::parameter) bytes += static_cast<std::uint64_t>(one.bytes);
    sum += bytes;
    if (bytes > most) out = memory;
    most = std::max(most, bytes);
  }
  return sum >= parameters - parameters / kAlike ? out : std::nullopt;
}

// The instant at which a copy on the host matters: its peak if that is in a step, else the end.
struct HostInstant {
  const replay::Holdings& alive;
  replay::Step step;
};

HostInstant host_instant(const ProcessAnalysis& analysis) {
  const replay::Peak& peak = analysis.account.peaks.at(0).live;
  const LeadingPeak leading{.memory = 0, .measure = Measure::live};
  if (peak.step != replay::Step::none && !peak.bucket) return {alive_at_peak(analysis, leading), peak.step};
  return {alive_at_end(analysis, leading), analysis.account.last_step};
}

Finding host_copy(const ProcessAnalysis& analysis, MemoryId gpu, const std::string& line,
                  const SiteTotals& copy) {
  Finding finding;
  finding.id = "parameter-copy";
  finding.memory = 0;
  finding.phase = copy.phase;
  finding.certain = analysis.losses.total() == 0;
  set_blocks(finding, copy);
  finding.title =
      fmt::format("A state dict of {}{} is still held on the host, at {}, and the model is on {}",
                  sized(copy.bytes), times_parameters(analysis, copy.bytes), line, memory_name(gpu));
  finding.evidence = {fmt::format("{} bytes in {} tensors on the host that were read from a checkpoint",
                                  copy.bytes, copy.blocks),
                      fmt::format("the parameters on GPUs have {} bytes", analysis.facts().parameters->bytes)};
  finding.sentences = {"Training has begun, and no step needs the copy on the host."};
  finding.remedy = fmt::format(
      "del the state dict once it is loaded: -{} of the host while it trains; or torch.load(file, mmap=True), "
      "whose pages the kernel can reclaim",
      sized(copy.bytes));
  finding.no_remedy = "torch.cuda.empty_cache(): the copy is not on the GPU";
  return finding;
}

} // namespace

Findings find_host_copy(ProcessAnalysis& analysis) {
  const auto& parameters = analysis.facts().parameters;
  if (!parameters || analysis.account.last_step == replay::Step::none) return {};
  const std::optional<MemoryId> gpu = gpu_of_parameters(analysis, parameters->bytes);
  if (!gpu || !analysis.account.peaks.contains(0)) return {};
  const HostInstant at = host_instant(analysis);
  Findings out;
  for (const auto& [line, copy] : state_dicts(analysis, at.alive))
    if (copy.step < at.step && as_large(copy.bytes, parameters->bytes) &&
        worthwhile(static_cast<std::int64_t>(copy.bytes), live_peak(analysis, 0).bytes))
      out.push_back(host_copy(analysis, *gpu, line, copy));
  return out;
}

PeakCandidates propose_parameter_copy(ProcessAnalysis& analysis) {
  return in_each_memory(analysis, propose_copy_in);
}

} // namespace memtrace::report
