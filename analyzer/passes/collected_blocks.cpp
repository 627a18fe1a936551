// Purpose: the blocks that Python's collector of cycles freed in a later round than that of their birth.
#include "analyzer/passes/collected_blocks.h"

#include <algorithm>

#include "analyzer/replay/replay.h"
#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::replay {
namespace {

class Collections : public Observer {
 public:
  Collections(const trace::Facts& facts, MemoryId memory, Measure measure, const Peak& peak)
      : memory_(memory), measure_(measure), peak_(peak.at), by_updates_(facts.step_phases) {}

  void began(const Occurrence&) override { close(); } // a collection is a phase of its own
  void ended(const Occurrence& occurrence, bool) override {
    if (by_updates_ &&
        known_phase(phases().paths().text(phases().paths().last(occurrence.path))) == KnownPhase::step)
      ended_ = true;
  }

  void died(const Block& block, const trace::Event& event) override {
    if ((event.flags & format::kCollected) == 0 || block.memory != memory_) return;
    if (out_.rounds.empty() || block.birth >= out_.rounds.back()) return;
    const std::uint64_t bytes = measure_ == Measure::tensor ? block.tensor_bytes()
                                : block.counted             ? block.given
                                                            : 0;
    if (bytes < kLeastCollected || out_.births.size() >= kMostCollected) return;
    out_.births.push_back(block.birth);
    CollectedStack& stack = out_.stacks[block.stack];
    stack.bytes += bytes;
    out_.bytes += bytes;
    ++out_.blocks;
    freed_ += bytes;
    if (block.birth < round_of_peak_ && peak_ < event.ordinal)
      stack.at_peak = wrapping_add(stack.at_peak, bytes);
  }
  void after(const trace::Event& event, const PhasePosition&) override {
    const bool next = by_updates_ ? ended_ : step_ != phases().step();
    if (!next) return;
    ended_ = false;
    step_ = phases().step();
    out_.rounds.push_back(event.ordinal);
    if (event.ordinal <= peak_) round_of_peak_ = event.ordinal;
  }
  void finished() override { close(); }

  CollectedBlocks take() && {
    if (out_.births.size() >= kMostCollected) return {};
    std::sort(out_.births.begin(), out_.births.end());
    return std::move(out_);
  }

 private:
  void close() {
    if (freed_ == 0) return;
    ++out_.collections;
    out_.most = std::max(out_.most, freed_);
    freed_ = 0;
  }

  MemoryId memory_;
  Measure measure_;
  trace::Ordinal peak_;
  trace::Ordinal round_of_peak_ = 0; // where the round of the peak began
  bool by_updates_;                  // an optimizer's step ends a round
  bool ended_ = false;               // such a step has just ended
  Step step_ = Step::none;
  std::uint64_t freed_ = 0; // bytes, by the present collection
  CollectedBlocks out_;
};

} // namespace

CollectedBlocks collected_blocks(const trace::Trace& trace, MemoryId memory, Measure measure,
                                 const Peak& peak) {
  Replay replay(trace);
  Collections collections(trace.facts(), memory, measure, peak);
  replay.run(collections);
  return std::move(collections).take();
}

} // namespace memtrace::replay
