// Purpose: describes unused memory of a device's allocator, and device memory outside of all allocations.
#include "analyzer/explain/segment_use.h"

#include <fmt/core.h>

#include <cmath>

#include "analyzer/wording/units.h"

namespace memtrace::report {

Unused unused_of(const replay::Segments& segments) {
  Unused out;
  for (const replay::AllocatorSegment& segment : segments.each) {
    if (segment.blocks == 0) {
      out.empty += segment.bytes;
      ++out.empties;
    } else if (segment.unused() != 0) {
      out.kept += segment.unused();
      ++out.keeping;
    }
  }
  return out;
}

std::string divided(const replay::DeviceUsage& gpu) {
  const replay::Residual& residual = gpu.residual;
  if (gpu.code == 0) // without CUPTI, no module is reported
    return fmt::format("context {}, code and the rest {}: an estimate", size(residual.context),
                       size(residual.code + residual.rest));
  return fmt::format("context {}, code {}, local memory and the rest {}: an estimate", size(residual.context),
                     size(residual.code), size(residual.rest));
}

std::optional<std::string> why_use_is_unknown(const ProcessAnalysis& analysis, replay::MemoryId memory) {
  const auto gpu = analysis.account.device_usage.find(memory);
  if (gpu == analysis.account.device_usage.end()) return "the GPU did not report it";
  const auto peaks = analysis.account.peaks.find(memory);
  if (peaks == analysis.account.peaks.end()) return std::nullopt;
  const replay::Peak& live = peaks->second.live;
  if (live.bytes <= gpu->second.asked_live) return std::nullopt;
  std::string text = fmt::format("it was not asked while {} were allocated", size(live.bytes));
  if (live.bucket) return text; // of a peak in the rollup, the time is not known
  const double after = analysis.seconds(live.stamp) - analysis.seconds(gpu->second.peak->stamp);
  return text + fmt::format(", {} {}", duration(std::abs(after)), after >= 0 ? "later" : "earlier");
}

std::string in_words(const Unused& unused) {
  const auto some = [](std::uint64_t bytes, std::size_t number, const char* of) {
    return fmt::format("{} in {} {}{}", sized(bytes), count(number), of, number == 1 ? "" : "s");
  };
  std::string text;
  if (unused.keeping != 0) text = some(unused.kept, unused.keeping, "segment") + " beside blocks";
  if (unused.empties != 0)
    text += (text.empty() ? "" : ", ") + some(unused.empty, unused.empties, "empty segment");
  return text;
}

} // namespace memtrace::report
