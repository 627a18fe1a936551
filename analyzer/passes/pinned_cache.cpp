// Purpose: the pinned memory that a framework's allocator held without using it.
#include "analyzer/passes/pinned_cache.h"

namespace memtrace::replay {
namespace {

class Listening : public Observer {
 public:
  explicit Listening(Step first) : first_(first) {}

  void after(const trace::Event& event, const PhasePosition&) override {
    if (event.type != format::EventType::reserved || event.flags >> format::kMemoryShift != 0) return;
    const auto said = event.as<format::ReservedEvent>();
    if (phases().step() <= first_ || said.allocated > said.reserved) return;
    const std::uint64_t idle = said.reserved - said.allocated;
    if (cache.reports++ != 0 && idle >= cache.idle) return;
    cache.idle = idle;
    cache.held = said.reserved;
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
