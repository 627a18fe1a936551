// Purpose: finds unused memory that a GPU holds: gaps between blocks, idle contexts, code that is not run.
#include "analyzer/findings/process/device_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "analyzer/explain/segment_use.h"
#include "analyzer/explain/thresholds.h"
#include "analyzer/findings/common/finding_at_peak.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using replay::AllocatorSegment;
using replay::DeviceUsage;
using replay::MemoryId;

constexpr std::int64_t kLeastUnused = 64 << 20;
constexpr std::int64_t kLeastContext = 64 << 20;
constexpr std::int64_t kLeastCode = 512 << 20;

// Returns the stack whose blocks keep the most unused bytes.
format::StackId main_holder(const replay::Segments& segments) {
  std::map<format::StackId, std::uint64_t> kept;
  for (const AllocatorSegment& segment : segments.each)
    if (segment.blocks != 0) kept[segment.holder] += segment.unused();
  const auto most = std::max_element(kept.begin(), kept.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == kept.end() ? format::StackId{} : most->first;
}

void fragmentation(ProcessAnalysis& analysis, MemoryId memory, const replay::Segments& segments,
                   Findings& out) {
  const replay::MemoryPeaks& peaks = analysis.account.peaks.at(memory);
  const replay::Peak& held = *peaks.reserved;
  const Unused unused = unused_of(segments);
  const auto bytes = static_cast<std::int64_t>(unused.sum());
  const std::int64_t saved = replay::wrapping_sub(held.bytes, peaks.tensor.bytes);
  if (bytes < kLeastUnused || bytes < held.bytes / 10) return;
  if (!worthwhile(saved, held.bytes)) return;
  Finding finding = finding_at(analysis, "device-fragmentation", memory, held);
  finding.bytes = bytes;
  finding.site = main_holder(segments);
  finding.title = fmt::format("{}: of {} that the caching allocator holds, {} are in no block",
                              memory_name(memory), size(held.bytes), size(bytes));
  finding.evidence = {
      fmt::format("{} segments of {} bytes at the peak of reserved, {} bytes of them in blocks",
                  segments.each.size(), segments.bytes, segments.in_blocks),
      fmt::format("{} bytes unused in {} segments with blocks in them, {} bytes in {} empty ones", unused.kept,
                  unused.keeping, unused.empty, unused.empties),
      fmt::format("all blocks together never took more than {} bytes", peaks.tensor.bytes)};
  finding.sentences = {
      fmt::format(
          "It asked the driver for more {} though that much was free, for what it asked for fitted into "
          "no gap.",
          analysis.place(held.path, held.step)),
      fmt::format("Unused are {}; all blocks together never took more than {}.", in_words(unused),
                  size(peaks.tensor.bytes))};
  finding.remedy = fmt::format(
      "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: up to -{} of what the GPU shows", size(saved));
  if (finding.site != format::StackId{}) {
    const std::string site = analysis.symbolizer->site(finding.site).title();
    finding.sentences.push_back(fmt::format("Most of it is kept by blocks of {}.", site));
    finding.remedy += "; or allocate what lasts before what comes and goes, and sizes that vary rounded to few";
  }
  out.push_back(std::move(finding));
}

// Returns another GPU on which this process holds more than here, and more than a small part of a context.
// Returns nullopt if there is none.
std::optional<MemoryId> place_of_work(const ProcessAnalysis& analysis, MemoryId here, std::int64_t context) {
  std::optional<MemoryId> best;
  for (const auto& [memory, peaks] : analysis.account.peaks) {
    if (memory == 0 || memory == here || peaks.live.bytes <= analysis.account.peaks.at(here).live.bytes)
      continue;
    if (peaks.live.bytes <= context / 16) continue;
    if (!best || peaks.live.bytes > analysis.account.peaks.at(*best).live.bytes) best = memory;
  }
  return best;
}

void idle_context(const ProcessAnalysis& analysis, MemoryId memory, const DeviceUsage& gpu, Findings& out) {
  const std::int64_t context = gpu.residual.sum();
  const std::int64_t live = analysis.account.peaks.at(memory).live.bytes;
  if (!gpu.own || context < kLeastContext || live > context / 16) return;
  const auto elsewhere = place_of_work(analysis, memory, context);
  const bool helper = analysis.kind == "worker" || analysis.kind == "child";
  if (!elsewhere && !helper) return;
  Finding finding = finding_at(analysis, "device-context", memory, *gpu.peak);
  finding.bytes = gpu.peak->bytes;
  finding.title = fmt::format("{}: {} for a context of this process, which holds {} there at most",
                              memory_name(memory), size(gpu.peak->bytes), size(live));
  finding.evidence = {fmt::format("the GPU shows {} bytes for this process, at most {} bytes were live there",
                                  gpu.peak->bytes, live)};
  const bool known = gpu.context_maker != format::StackId{};
  const std::string maker = known ? analysis.symbolizer->site(gpu.context_maker).line() : "";
  if (known) {
    finding.site = gpu.context_maker;
    finding.evidence.push_back("the first context was made at " + maker);
  }
  if (elsewhere) {
    finding.evidence.push_back(fmt::format(
        "{} bytes were live on {}", analysis.account.peaks.at(*elsewhere).live.bytes, memory_name(*elsewhere)));
    finding.sentences = {
        known
            ? fmt::format("It works on {}, and {} made a context here as well.", memory_name(*elsewhere), maker)
            : fmt::format("It works on {}. memtrace did not record the line that made this context.",
                          memory_name(*elsewhere))};
    finding.remedy = fmt::format(
        "torch.cuda.set_device({}) before anything else touches CUDA, map_location in torch.load, or the other "
        "GPUs out of CUDA_VISIBLE_DEVICES: -{}",
        memory_name(*elsewhere).substr(5), size(gpu.peak->bytes));
  } else {
    finding.sentences = {"It is a helper of another process, and each process has a context of its own."};
    if (known) finding.sentences.push_back(fmt::format("{} made the context.", maker));
    finding.remedy = fmt::format(
        "no tensor on the GPU in the helper (in a Dataset, collate_fn or worker_init_fn): -{} for each",
        size(context));
  }
  out.push_back(std::move(finding));
}

void loaded_code(const ProcessAnalysis& analysis, MemoryId memory, const DeviceUsage& gpu, Findings& out) {
  const std::int64_t code = gpu.residual.code;
  if (!gpu.alone() || code < kLeastCode || gpu.code == 0) return;
  if (!worthwhile(code, gpu.peak->bytes)) return;
  Finding finding = finding_at(analysis, "device-context", memory, *gpu.peak);
  finding.bytes = code;
  finding.certain = false; // the memory of modules is inferred from times
  finding.title = fmt::format("{}: about {} for code that was loaded there", memory_name(memory), size(code));
  finding.evidence = {
      fmt::format("cubins of {} bytes were loaded", gpu.code),
      fmt::format(
          "what no allocation accounts for grew by {} bytes between looks at the GPU between which modules "
          "were loaded, of {} bytes in all",
          code, gpu.residual.sum())};
  finding.sentences = {
      fmt::format("Of {} that no allocation accounts for: {}.", size(gpu.residual.sum()), divided(gpu))};
  finding.remedy =
      "CUDA_MODULE_LOADING=LAZY, where it is EAGER or CUDA is older than 12.2: a kernel is loaded when it "
      "is first launched; and no import of extensions whose kernels are not used";
  out.push_back(std::move(finding));
}

} // namespace

Findings find_in_devices(ProcessAnalysis& analysis) {
  Findings out;
  for (const auto& [memory, segments] : analysis.segments) fragmentation(analysis, memory, segments, out);
  for (const auto& [memory, gpu] : analysis.account.device_usage) {
    idle_context(analysis, memory, gpu, out);
    loaded_code(analysis, memory, gpu, out);
  }
  return out;
}

} // namespace memtrace::report
