// Purpose: the memory that a framework's allocator held on a GPU without using it, over time.
#pragma once

#include <map>
#include <vector>

#include "analyzer/replay/replay.h"

namespace memtrace::replay {

// Observes a whole pass.
class UnusedReserved : public SideObserver {
 public:
  void after(const trace::Event& event, const PhasePosition& place) override;

  // Returns, by GPU, the bytes that the allocator held and no tensor had, times the seconds for which it was
  // so.
  std::map<MemoryId, double> byte_seconds() const;

 private:
  struct GpuCache {
    MemoryId memory = 0;
    std::int64_t reserved = 0;
    std::int64_t unused = 0; // since `since`
    format::Stamp since = 0;
    double byte_seconds = 0;
  };

  GpuCache& held_on(MemoryId memory, format::Stamp stamp);

  std::vector<GpuCache> gpus_; // few, and none for most programs
};

} // namespace memtrace::replay
