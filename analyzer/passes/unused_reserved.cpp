// Purpose: the memory that a framework's allocator held on a GPU without using it, over time.
#include "analyzer/passes/unused_reserved.h"

#include <algorithm>

#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/trace/snapshot_events.h"

namespace memtrace::replay {

UnusedReserved::GpuCache& UnusedReserved::held_on(MemoryId memory, format::Stamp stamp) {
  for (GpuCache& held : gpus_)
    if (held.memory == memory) return held;
  return gpus_.emplace_back(GpuCache{memory, 0, 0, stamp, 0});
}

void UnusedReserved::after(const trace::Event& event, const PhasePosition&) {
  if (trace::is_of_snapshot(event.type)) return; // it sets the level before it lists the blocks
  const auto memory = static_cast<MemoryId>(event.flags >> format::kMemoryShift);
  if (event.type == format::EventType::reserved && memory != 0) // of the host: pinned memory
    held_on(memory, event.stamp).reserved =
        static_cast<std::int64_t>(event.as<format::ReservedEvent>().reserved);
  for (GpuCache& held : gpus_) {
    if (event.stamp > held.since) {
      held.byte_seconds +=
          static_cast<double>(held.unused) * static_cast<double>(event.stamp - held.since) / 1e9;
      held.since = event.stamp;
    }
    held.unused = std::max<std::int64_t>(wrapping_sub(held.reserved, ledger().level(held.memory).tensor), 0);
  }
}

std::map<MemoryId, double> UnusedReserved::byte_seconds() const {
  std::map<MemoryId, double> out;
  for (const GpuCache& held : gpus_) out[held.memory] = held.byte_seconds;
  return out;
}

} // namespace memtrace::replay
