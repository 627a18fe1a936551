// Purpose: the size of the batch that each step of training took.
#include "analyzer/passes/batch_sizes.h"

#include <algorithm>
#include <unordered_map>

#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::replay {
namespace {

class BatchPass : public Observer {
 public:
  BatchSizes take() && { return std::move(sizes_); }

  void began(const Occurrence& occurrence) override {
    if (occurrence.step == Step::none || !is_outermost_forward(occurrence.path)) return;
    std::map<MemoryId, std::uint64_t> batch;
    for (const auto& [birth, made] : made_) batch[made.memory] += made.bytes;
    for (const auto& [memory, bytes] : batch) {
      std::uint64_t& largest = sizes_[memory][occurrence.step];
      largest = std::max(largest, bytes);
    }
    made_.clear();
  }
  void born(const Block& block) override {
    if (const std::uint64_t bytes = input_bytes(block); bytes != 0) made_[block.birth] = {block.memory, bytes};
  }
  void died(const Block& block, const trace::Event&) override { made_.erase(block.birth); }
  void cut(const trace::Event&) override { made_.clear(); }

 private:
  struct MadeInput {
    MemoryId memory = 0;
    std::uint64_t bytes = 0;
  };

  static std::uint64_t input_bytes(const Block& block) {
    const KnownPhase born = block.born.known;
    if (born == KnownPhase::data && block.kind == format::Kind::shm && !block.tensor) return block.given;
    return born == KnownPhase::data || born == KnownPhase::none ? block.tensor_bytes() : 0;
  }

  bool is_outermost_forward(PathId path) const {
    const Paths& paths = phases().paths();
    const auto known = [&](PathId of) { return known_phase(paths.text(paths.last(of))); };
    if (known(path) != KnownPhase::forward) return false;
    for (PathId above = paths.parent_of(path); above != PathId::other; above = paths.parent_of(above))
      if (known(above) != KnownPhase::none) return false;
    return true;
  }

  std::unordered_map<trace::Ordinal, MadeInput> made_; // since the last forward began, and alive; by birth
  BatchSizes sizes_;
};

} // namespace

BatchSizes batch_sizes(const trace::Trace& trace) {
  Replay replay(trace);
  BatchPass pass;
  replay.run(pass);
  return std::move(pass).take();
}

} // namespace memtrace::replay
