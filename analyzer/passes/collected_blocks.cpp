// Purpose: the blocks that Python's collector of cycles freed in a later round than that of their birth.
#include "analyzer/passes/collected_blocks.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "analyzer/replay/replay.h"
#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::replay {
namespace {

class Collections : public Observer {
 public:
  Collections(const trace::Facts& facts, MemoryId memory, Measure measure, const Peak& peak)
      : memory_(memory), measure_(measure), peak_(peak.at), by_updates_(facts.step_phases) {}

  void began(const Occurrence&) override {
    close(); // a collection is a phase of its own
    for (const auto& [stack, bytes] : freed_since_) freed_[stack] += bytes;
    freed_since_.clear();
    freed_at_end_.clear();
  }
  void ended(const Occurrence& occurrence, bool) override {
    const NameId name = phases().paths().last(occurrence.path);
    if (by_updates_ && known_phase(phases().paths().text(name)) == KnownPhase::step) ended_ = true;
  }

  void died(const Block& block, const trace::Event& event) override {
    const std::uint64_t bytes = bytes_of(block);
    if (bytes < kLeastCollected) return;
    if ((event.flags & format::kCollected) == 0) {
      freed_since_[block.stack] += bytes;
      if (event.ordinal > peak_ && block.birth <= peak_) freed_at_end_.insert(block.birth);
      return;
    }
    if (out_.rounds.empty() || block.birth >= out_.rounds.back() || out_.births.size() >= kMostCollected)
      return;
    out_.births.push_back(block.birth);
    out_.stacks[block.stack].bytes += bytes;
    out_.bytes += bytes;
    ++out_.blocks;
    collected_ += bytes;
  }

  void after(const trace::Event& event, const PhasePosition&) override {
    if (by_updates_ ? ended_ : step_ != phases().step()) {
      ended_ = false;
      step_ = phases().step();
      out_.rounds.push_back(event.ordinal);
    }
    if (event.ordinal != peak_) return;
    round_of_peak_ = out_.rounds.empty() ? 0 : out_.rounds.back();
    ledger().each_alive([this](const Block& block) {
      if (bytes_of(block) >= kLeastCollected)
        alive_at_peak_[block.stack].push_back({block.birth, bytes_of(block)});
    });
  }

  void finished() override {
    close();
    ledger().each_alive([this](const Block& block) {
      if (block.birth <= peak_) freed_at_end_.insert(block.birth);
    });
  }

  CollectedBlocks take() && {
    if (out_.births.size() >= kMostCollected) return {};
    std::erase_if(out_.stacks,
                  [this](const auto& stack) { return !only_collected(stack.first, stack.second); });
    std::sort(out_.births.begin(), out_.births.end());
    const std::vector<trace::Ordinal> collected = out_.births;
    for (auto& [stack, sums] : out_.stacks) add_those_at_peak(stack, sums, collected);
    std::sort(out_.births.begin(), out_.births.end());
    out_.births.erase(std::unique(out_.births.begin(), out_.births.end()), out_.births.end());
    return std::move(out_);
  }

 private:
  struct AliveAtPeak {
    trace::Ordinal birth;
    std::uint64_t bytes;
  };

  std::uint64_t bytes_of(const Block& block) const {
    if (block.memory != memory_) return 0;
    if (measure_ == Measure::tensor) return block.tensor_bytes();
    return block.counted ? block.given : 0;
  }
  // True if the program itself frees at most a tenth of the blocks of the stack, by bytes.
  bool only_collected(format::StackId stack, const CollectedStack& sums) const {
    const auto freed = freed_.find(stack);
    return freed == freed_.end() || freed->second <= sums.bytes / 9;
  }
  void add_those_at_peak(format::StackId stack, CollectedStack& sums,
                         const std::vector<trace::Ordinal>& collected) {
    const std::vector<AliveAtPeak>& alive = alive_at_peak_[stack];
    trace::Ordinal newest = 0;
    for (const AliveAtPeak& block : alive) newest = std::max(newest, block.birth);
    for (const AliveAtPeak& block : alive) {
      if (block.birth >= round_of_peak_ || block.birth == newest) continue;
      if (!std::binary_search(collected.begin(), collected.end(), block.birth)) {
        if (!freed_at_end_.contains(block.birth)) continue;
        out_.births.push_back(block.birth);
      }
      sums.at_peak = wrapping_add(sums.at_peak, block.bytes);
    }
  }
  void close() {
    if (collected_ == 0) return;
    ++out_.collections;
    out_.most = std::max(out_.most, collected_);
    collected_ = 0;
  }

  MemoryId memory_;
  Measure measure_;
  trace::Ordinal peak_;
  trace::Ordinal round_of_peak_ = 0; // where the round of the peak began
  bool by_updates_;                  // an optimizer's step ends a round
  bool ended_ = false;               // such a step has just ended
  Step step_ = Step::none;
  std::uint64_t collected_ = 0;                                    // bytes, by the present collection
  std::unordered_map<format::StackId, std::uint64_t> freed_;       // bytes that no collection freed
  std::unordered_map<format::StackId, std::uint64_t> freed_since_; // since the last phase began
  std::unordered_set<trace::Ordinal>
      freed_at_end_; // births of blocks that were alive at the peak, and died since then or never
  std::unordered_map<format::StackId, std::vector<AliveAtPeak>> alive_at_peak_;
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
