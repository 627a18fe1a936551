// Purpose: what a framework's allocator of pinned memory held and nobody used.
#include "analyzer/passes/pinned_cache.h"

namespace memtrace::replay {
namespace {

class Listening : public Observer {
 public:
  explicit Listening(Step first) : first_(first) {}

  void after(const trace::Event& event, const PhasePosition&) override {
    if (event.type != format::EventType::reserved || event.flags >> format::kMemoryShift != 0) return;
    const std::uint64_t used = event.word[0];
    const std::uint64_t held = event.word[1];
    if (phases().step() <= first_ || used > held) return;
    if (cache.reports++ != 0 && held - used >= cache.idle) return;
    cache.idle = held - used;
    cache.held = held;
  }
  PinnedCache cache;

 private:
  Step first_;
};

} // namespace

PinnedCache pinned_cache(const trace::Trace& trace, Step first) {
  Replay replay(trace);
  Listening listening(first);
  replay.run(listening);
  return listening.cache;
}

} // namespace memtrace::replay
