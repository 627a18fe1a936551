// Purpose: follows blocks that a program replaces by larger ones, such as a tensor that torch.cat extends.
#include "analyzer/passes/rebuilt_blocks.h"

#include <map>
#include <unordered_map>
#include <utility>

#include "analyzer/files/read_budget.h"
#include "analyzer/passes/left_blocks.h"

namespace memtrace::replay {
namespace {

constexpr std::int64_t kOldPart = 10; // at most a tenth of a rebuilt level is older than the event

class RebuiltPass : public Observer {
 public:
  explicit RebuiltPass(const RebuiltQuestion& question) : question_(question) {}

  RebuiltBlocks take() && {
    RebuiltBlocks out;
    out.events = question_.steps ? static_cast<std::int64_t>(step_) + 1 : passes_;
    for (auto& [key, held] : held_)
      if (held.series.bytes.size() > 1) out.each.push_back(std::move(held.series));
    return out;
  }

  void ended(const Occurrence& occurrence, bool) override {
    if (question_.steps || !is_outermost_pass(occurrence.path)) return;
    end_event(passes_++);
  }
  void after(const trace::Event&, const PhasePosition&) override {
    if (phases().step() == step_) return;
    if (question_.steps && step_ != Step::none) end_event(static_cast<std::int64_t>(step_));
    step_ = phases().step();
  }
  void born(const Block& block) override {
    const auto bytes = bytes_of(block);
    if (bytes == 0) return;
    StackLevel& held = held_[{block.memory, block.stack}];
    if (held.births == 0) held.kept = held.live;
    held.live += bytes;
    held.fresh += bytes;
    ++held.births;
    held.born = block.born;
    event_of_[block.birth] = event_;
  }
  void died(const Block& block, const trace::Event&) override {
    const auto bytes = bytes_of(block);
    const auto at = held_.find({block.memory, block.stack});
    if (bytes == 0 || at == held_.end()) return;
    at->second.live -= bytes;
    const auto event = event_of_.find(block.birth);
    if (event == event_of_.end()) return;
    if (event->second == event_) at->second.fresh -= bytes;
    event_of_.erase(event);
  }
  // The events between are unknown, so no series goes on.
  void cut(const trace::Event&) override {
    held_.clear();
    event_of_.clear();
  }

 private:
  struct StackLevel {
    std::int64_t live = 0;    // bytes
    std::int64_t fresh = 0;   // of these, born in this event
    std::int64_t kept = 0;    // bytes that were alive when the first block of this event was born
    std::uint64_t births = 0; // in this event
    PhasePosition born;
    RebuiltSeries series;
  };

  std::int64_t bytes_of(const Block& block) const {
    if (block.sampled || !question_.stacks.contains(block.stack)) return 0;
    if (!question_.steps && !is_in_pass(block.born.path)) return 0;
    return static_cast<std::int64_t>(block.tensor ? block.tensor_bytes() : block.counted ? block.given : 0);
  }

  bool uses_model(PathId path) const {
    return path != PathId::other && uses_a_model(phases().paths().text(phases().paths().last(path)));
  }
  bool is_in_pass(PathId path) const {
    for (; path != PathId::other; path = phases().paths().parent_of(path))
      if (uses_model(path)) return true;
    return false;
  }
  bool is_outermost_pass(PathId path) const {
    return uses_model(path) && !is_in_pass(phases().paths().parent_of(path));
  }

  void end_event(std::int64_t number) {
    for (auto& [key, held] : held_) {
      add_to_series(key, held, number);
      held.fresh = 0;
      held.births = 0;
    }
    ++event_;
  }

  static void add_to_series(const std::pair<MemoryId, format::StackId>& key, StackLevel& held,
                            std::int64_t number) {
    RebuiltSeries& series = held.series;
    const std::int64_t last = series.bytes.empty() ? 0 : series.bytes.back();
    if (held.births == 0 && held.live == last) return; // an event without such a block
    const bool rebuilt = held.births != 0 && held.live > last && held.kept >= last &&
                         (held.live - held.fresh) * kOldPart <= held.live;
    if (!rebuilt) series.events.clear(), series.bytes.clear();
    if (held.births == 0 || held.live <= 0) return;
    series.memory = key.first;
    series.stack = key.second;
    series.events.push_back(number);
    series.bytes.push_back(held.live);
    series.born = held.born;
  }

  const RebuiltQuestion& question_;
  std::map<std::pair<MemoryId, format::StackId>, StackLevel> held_;
  std::unordered_map<trace::Ordinal, std::int64_t> event_of_; // by the birth of a live block
  std::int64_t event_ = 0;
  std::int64_t passes_ = 0;
  Step step_ = Step::none;
};

} // namespace

RebuiltBlocks rebuilt_blocks(const trace::Trace& trace, const RebuiltQuestion& question) {
  files::Budget::of_command().looks(trace.records());
  Replay replay(trace);
  RebuiltPass pass(question);
  replay.run(pass);
  return std::move(pass).take();
}

} // namespace memtrace::replay
