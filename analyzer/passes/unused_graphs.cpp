// Purpose: the blocks that forward passes kept for a backward that never came.
#include "analyzer/passes/unused_graphs.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace memtrace::replay {
namespace {

struct ForwardPass {
  std::uint64_t outlived = 0;    // bytes that outlived the forward
  std::uint64_t in_backward = 0; // of them, freed in a backward
  bool followed = false;         // by another forward, a backward or an update
  bool before_backward = false;  // a backward came next
  trace::Ordinal output = 0;     // birth of its output; 0: none
  format::StackId output_at{};   // its stack

  bool used() const { return before_backward || outlived == 0 || in_backward > outlived / 10; }
};

constexpr std::uint64_t kScalar = 8; // bytes

class GraphPass : public Observer {
 public:
  explicit GraphPass(MemoryId memory) : memory_(memory) {}

  void began(const Occurrence& occurrence) override {
    const KnownPhase known = known_phase(phases().paths().text(phases().paths().last(occurrence.path)));
    if (known == KnownPhase::forward) {
      if (!passes_.empty()) passes_.back().followed = true;
      passes_.emplace_back();
      open_ = occurrence.id;
      alive_.clear();
    }
    if (passes_.empty()) return;
    if (known == KnownPhase::forward || known == KnownPhase::loss) pass_of_[occurrence.id] = passes_.size() - 1;
    if (known == KnownPhase::backward && !passes_.back().followed) passes_.back().before_backward = true;
    if (known == KnownPhase::backward || known == KnownPhase::step) passes_.back().followed = true;
    if (known == KnownPhase::backward) before_last_backward_ = passes_.size();
  }
  void ended(const Occurrence& occurrence, bool) override {
    if (occurrence.id != open_) return;
    if (!alive_.empty()) std::tie(passes_.back().output, passes_.back().output_at) = *alive_.rbegin();
    open_ = OccurrenceId::none;
  }
  void born(const Block& block) override {
    if (may_be_output(block) && block.born.occurrence == open_ && open_ != OccurrenceId::none)
      alive_.emplace(block.birth, block.stack);
  }
  void died(const Block& block, const trace::Event& event) override {
    if (open_ != OccurrenceId::none && block.born.occurrence == open_) {
      alive_.erase(block.birth);
    } else if (counts(block)) {
      outlived(block, phases().place(event.thread).known == KnownPhase::backward);
    }
  }
  void finished() override {
    ledger().each_alive([this](const Block& block) {
      if (counts(block)) outlived(block, false);
    });
  }

  UnusedGraphs take(LastPasses last) {
    if (last == LastPasses::complete && passes_.size() > 1 && unused(passes_.size() - 2))
      passes_.back().followed = true;
    const bool alternates = std::all_of(passes_.begin(), passes_.end(), [](const ForwardPass& pass) {
      return pass.before_backward || pass.in_backward <= pass.outlived / 10;
    });
    const bool to_the_end = last != LastPasses::cut_off || (alternates && before_last_backward_ != 0);
    const std::size_t end = to_the_end ? passes_.size() : before_last_backward_;
    UnusedGraphs out;
    std::uint64_t in_a_row = 0;
    for (std::size_t i = 0; i < end; ++i) {
      in_a_row = unused(i) ? in_a_row + 1 : 0;
      out.passes += in_a_row != 0 ? 1 : 0;
      if (in_a_row != 0 && passes_[i].output != 0) out.outputs.insert(passes_[i].output_at);
      out.most_in_a_row = std::max(out.most_in_a_row, in_a_row);
    }
    for (const Kept& block : kept_) {
      if (block.pass >= end || !unused(block.pass) || block.birth == passes_[block.pass].output) continue;
      out.births.push_back(block.birth);
      out.bytes[block.stack] += block.bytes;
      out.largest = std::max(out.largest, block.bytes);
    }
    std::sort(out.births.begin(), out.births.end());
    return out;
  }

 private:
  struct Kept { // a block that outlived a forward which no backward followed
    std::size_t pass;
    trace::Ordinal birth;
    format::StackId stack;
    std::uint64_t bytes;
  };

  bool counts(const Block& block) const {
    return block.memory == memory_ && block.tensor_bytes() >= kLeastOfGraph && !is_kept(block.label);
  }
  // An output may be small: the classes of a batch. A loss that the model computes is not an output of its
  // layers.
  bool may_be_output(const Block& block) const {
    return block.memory == memory_ && block.tensor_bytes() > kScalar && !is_kept(block.label);
  }
  // The last pass may still be waiting for its backward.
  bool unused(std::size_t pass) const { return passes_[pass].followed && !passes_[pass].used(); }

  void outlived(const Block& block, bool in_backward) {
    const auto at = pass_of_.find(block.born.occurrence);
    if (at == pass_of_.end()) return;
    ForwardPass& pass = passes_[at->second];
    pass.outlived += block.tensor_bytes();
    if (in_backward) pass.in_backward += block.tensor_bytes();
    if (!pass.before_backward) kept_.push_back({at->second, block.birth, block.stack, block.tensor_bytes()});
  }

  MemoryId memory_;
  std::vector<ForwardPass> passes_;
  std::unordered_map<OccurrenceId, std::size_t> pass_of_; // of the phases `forward` and `loss`
  OccurrenceId open_ = OccurrenceId::none;                // the forward that runs
  std::map<trace::Ordinal, format::StackId> alive_;       // tensors of it that are alive, by birth
  std::size_t before_last_backward_ = 0;                  // number of passes
  std::vector<Kept> kept_;
};

} // namespace

UnusedGraphs unused_graphs(const trace::Trace& trace, MemoryId memory, LastPasses last) {
  Replay replay(trace);
  GraphPass graphs(memory);
  replay.run(graphs);
  return graphs.take(last);
}

} // namespace memtrace::replay
