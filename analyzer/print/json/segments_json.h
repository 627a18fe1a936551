// Purpose: writes as JSON the segments of a device's allocator, and the device memory outside of all
// allocations.
#pragma once

#include <cstddef>

#include "analyzer/print/json/site_json.h"

namespace memtrace::report {

Json segments_json(ProcessAnalysis& analysis, const replay::Segments& segments, std::size_t top);
Json residual_json(const replay::DeviceUsage& gpu);

} // namespace memtrace::report
