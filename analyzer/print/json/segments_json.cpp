// Purpose: writes as JSON the segments of a device's allocator, and the device memory outside of all
// allocations.
#include "analyzer/print/json/segments_json.h"

#include <algorithm>
#include <utility>

#include "analyzer/explain/segment_use.h"

namespace memtrace::report {

Json segments_json(ProcessAnalysis& analysis, const replay::Segments& segments, std::size_t top) {
  const Unused unused = unused_of(segments);
  Json each = Json::array();
  for (std::size_t i = 0; i < std::min(top, segments.each.size()); ++i) {
    const replay::AllocatorSegment& segment = segments.each[i];
    const bool held = segment.blocks != 0;
    each.push_back(
        {{"bytes", segment.bytes},
         {"in_blocks", segment.in_blocks},
         {"blocks", segment.blocks},
         {"site", held ? site_json(analysis, segment.holder) : Json(nullptr)},
         {"born_phase", held ? Json(analysis.account.paths.text(segment.holder_phase)) : Json(nullptr)},
         {"born_step", held && segment.holder_step != replay::Step::none
                           ? Json(static_cast<std::int64_t>(segment.holder_step))
                           : Json(nullptr)}});
  }
  return {{"count", segments.each.size()},       {"bytes", segments.bytes},
          {"in_blocks", segments.in_blocks},     {"unused", unused.sum()},
          {"unused_beside_blocks", unused.kept}, {"empty", unused.empties},
          {"in_mapped_pages", segments.outside}, {"most_unused", std::move(each)}};
}

Json residual_json(const replay::DeviceUsage& gpu) {
  return {{"context", gpu.residual.context},
          {"code", gpu.residual.code},
          {"rest", gpu.residual.rest},
          {"how", "estimate"}};
}

} // namespace memtrace::report
