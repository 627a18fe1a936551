// Purpose: finds memory that a rank allocated on the GPU of another rank.
#include "analyzer/findings/process/wrong_device.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "analyzer/findings/process/rank_list.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using replay::Measure;
using replay::MemoryId;

// With less, the context takes more than the tensors: see device-context.
constexpr std::int64_t kLeastStray = 32 << 20;

// Returns the same text for the same GPU in all processes of a host. CUDA_VISIBLE_DEVICES may give it another
// number in each.
std::string identity_of(const trace::Facts& facts, MemoryId memory) {
  const auto device = facts.devices.find(memory);
  std::string uuid;
  if (device != facts.devices.end())
    for (const std::uint8_t byte : device->second.uuid) uuid += fmt::format("{:02x}", byte);
  const bool known = uuid.find_first_not_of('0') != std::string::npos;
  return fmt::format("{} {}", facts.host, known ? uuid : memory_name(memory));
}

bool has_context_finding(const Findings& own, MemoryId memory) {
  return std::any_of(own.begin(), own.end(), [memory](const Finding& one) {
    return one.id == "device-context" && one.memory == memory;
  });
}

} // namespace

void WrongDevice::add(ProcessAnalysis& analysis, const Findings& own) {
  const trace::Facts& facts = analysis.facts();
  if (facts.rank == trace::kNoRank || analysis.kind == "worker" || analysis.kind == "child") return;
  MemoryId home = 0;
  for (const auto& [memory, peaks] : analysis.account.peaks)
    if (memory != 0 && (home == 0 || peaks.tensor.bytes > analysis.account.peaks.at(home).tensor.bytes))
      home = memory;
  for (const auto& [memory, peaks] : analysis.account.peaks) {
    if (memory == 0 || peaks.tensor.bytes <= 0) continue;
    OnGpu here;
    here.rank = facts.rank;
    here.memory = memory;
    here.tensors = peaks.tensor.bytes;
    here.live = peaks.live.bytes;
    here.home = memory == home;
    here.context = has_context_finding(own, memory);
    const auto usage = analysis.account.device_usage.find(memory);
    if (usage != analysis.account.device_usage.end() && usage->second.own && usage->second.peak)
      here.shown = usage->second.peak->bytes;
    here.phase = analysis.account.paths.text(analysis.account.paths.last(peaks.tensor.path));
    for (const replay::Holding& holding : analysis.set({memory, Measure::tensor, peaks.tensor.at})) {
      if (holding.stack == format::StackId{}) continue;
      const symbols::Site& site = analysis.symbolizer->site(holding.stack);
      here.line = site.line();
      here.site = symbols::keep(site);
      break; // the largest
    }
    gpus_[identity_of(facts, memory)].push_back(std::move(here));
  }
}

void WrongDevice::add(WrongDevice&& others) {
  for (auto& [gpu, ranks] : others.gpus_) std::move(ranks.begin(), ranks.end(), std::back_inserter(gpus_[gpu]));
}

// Returns the rank that has most tensors there, if it has most of its own there; else nullptr.
const WrongDevice::OnGpu* WrongDevice::owner_of(const OfGpu& ranks) {
  const auto most = std::max_element(ranks.begin(), ranks.end(), [](const OnGpu& a, const OnGpu& b) {
    return a.tensors != b.tensors ? a.tensors < b.tensors : a.rank > b.rank;
  });
  return most != ranks.end() && most->home ? &*most : nullptr;
}

JobFinding WrongDevice::finding_of(const OnGpu& owner, const std::vector<const OnGpu*>& strays) {
  JobFinding found;
  Finding& finding = found.finding;
  const OnGpu& first = *strays.front();
  const std::string gpu = memory_name(first.memory);
  std::int64_t shown = 0;
  std::vector<std::uint32_t> ranks;
  for (const OnGpu* one : strays) {
    ranks.push_back(one->rank);
    finding.bytes = replay::wrapping_add(finding.bytes, one->live);
    shown = replay::wrapping_add(shown, one->shown);
    finding.evidence.push_back(
        fmt::format("rank {}: {} bytes of tensors on {} at most, {} bytes taken from the "
                    "driver",
                    one->rank, one->tensors, memory_name(one->memory), one->live));
  }
  finding.evidence.push_back(fmt::format(
      "rank {}: {} bytes of tensors there at most, and no more on another GPU", owner.rank, owner.tensors));
  found.site = first.site;
  finding.id = "wrong-device";
  finding.memory = first.memory;
  finding.phase = first.phase;
  finding.certain = true;
  finding.bytes_at_peak = finding.bytes_at_end = finding.bytes;
  finding.title = fmt::format("{} {} {} {} on {}, the GPU of rank {}{}", strays.size() == 1 ? "Rank" : "Ranks",
                              rank_list(ranks), strays.size() == 1 ? "holds" : "hold", size(finding.bytes), gpu,
                              owner.rank, first.line.empty() ? "" : ", at " + first.line);
  finding.sentences = {strays.size() == 1 ? "The rank has most of its tensors on another GPU."
                                          : "Each of them has most of its tensors on another GPU."};
  if (shown != 0)
    finding.sentences.push_back(fmt::format("With {}, it shows {} for {}.",
                                            strays.size() == 1 ? "the context" : "their contexts", size(shown),
                                            strays.size() == 1 ? "the rank" : "these ranks"));
  finding.remedy = fmt::format(
      "torch.cuda.set_device(local_rank) before anything else touches CUDA; torch.load(file, "
      "map_location=\"cpu\"), which else puts tensors where they were saved: -{}",
      size(shown != 0 ? shown : finding.bytes));
  finding.no_remedy = "torch.cuda.empty_cache(): the context stays, and the tensors that are in use";
  return found;
}

void WrongDevice::find(std::vector<JobFinding>& out) const {
  for (const auto& [gpu, ranks] : gpus_) {
    const OnGpu* const owner = owner_of(ranks);
    if (owner == nullptr) continue;
    std::map<std::string, std::vector<const OnGpu*>> strays; // by line
    for (const OnGpu& one : ranks)
      if (!one.home && !one.context && one.live >= kLeastStray) strays[one.line].push_back(&one);
    for (auto& [line, some] : strays) {
      std::sort(some.begin(), some.end(), [](const OnGpu* a, const OnGpu* b) { return a->rank < b->rank; });
      out.push_back(finding_of(*owner, some));
    }
  }
}

} // namespace memtrace::report
