// Purpose: when shared memory was allocated and freed.
#include "analyzer/passes/shm_flows.h"

namespace memtrace::replay {
namespace {

class Watching : public Observer {
 public:
  void born(const Block& block) override {
    if (counts(block))
      flows.births.push_back({block.birth_stamp, block.birth, block.given, block.stack, block.born});
  }
  void died(const Block& block, const trace::Event& event) override {
    if (counts(block))
      flows.deaths.push_back({event.stamp, event.ordinal, block.given, block.stack, block.born});
  }
  SharedFlows flows;

 private:
  static bool counts(const Block& block) {
    return block.kind == format::Kind::shm && block.counted && block.given >= kLeastShared;
  }
};

} // namespace

SharedFlows shared_flows(const trace::Trace& trace) {
  Replay replay(trace);
  Watching watching;
  replay.run(watching);
  return std::move(watching.flows);
}

} // namespace memtrace::replay
