// Purpose: the blocks that recurring events left behind: each outlived the event in which it was born.
#include "analyzer/passes/left_blocks.h"

#include <algorithm>
#include <unordered_map>

#include "analyzer/files/read_budget.h"

namespace memtrace::replay {
namespace {

constexpr trace::Ordinal kNever = ~trace::Ordinal{0};

// Returns the first of the ascending instants that is not before `at`, or kNever.
trace::Ordinal first_from(const std::vector<trace::Ordinal>& instants, trace::Ordinal at) {
  const auto found = std::lower_bound(instants.begin(), instants.end(), at);
  return found == instants.end() ? kNever : *found;
}

class EventPass : public Observer {
 public:
  explicit EventPass(const LeftQuestion& question) : question_(question), ends_(question.counted.size()) {
    for (std::size_t i = 1; i < question.cycles.size(); ++i) ends_[0].push_back(question.cycles[i] - 1);
    if (!question.cycles.empty()) return; // no phase is counted
    for (std::size_t i = 0; i < question.counted.size(); ++i) {
      counted_at_[question.counted[i].path].push_back(i);
      if (question.counted[i].joined) joined_.push_back(i);
    }
  }

  void began(const Occurrence& occurrence) override {
    if (!uses_a_model(phases().paths().text(phases().paths().last(occurrence.path)))) return;
    for (const std::size_t i : joined_) end_event(i);
  }
  void ended(const Occurrence& occurrence, bool) override {
    const auto counted = counted_at_.find(occurrence.path);
    if (counted == counted_at_.end()) return;
    for (const std::size_t i : counted->second)
      if (!question_.counted[i].joined) end_event(i);
  }
  void after(const trace::Event& event, const PhasePosition&) override {
    now_ = event.ordinal;
    if (phases().step() == step_) return;
    step_ = phases().step();
    step_begins_.push_back(now_);
  }
  void died(const Block& block, const trace::Event& event) override { lived(block, event.ordinal); }
  // A gap ends no block: the snapshot after it lists those that are alive.
  void cut(const trace::Event& event) override { survived(event.ordinal, false); }
  void finished() override { survived(kNever, true); }

  // Continues from a keyframe.
  void begin_with(const FreedLater& freed) {
    for (const auto& [of, bytes] : freed)
      if (question_.until.contains(of.first)) out_.freed_later[of] = bytes;
  }
  // Adds a block that ended after the pass, and thus after the instants.
  void ended(const BlockEnd& end) { lived(end.block, end.at); }
  void set_step_begins(const std::vector<trace::Ordinal>& all) { step_begins_ = all; }

  LeftBlocks take() {
    for (LeftBlock& block : out_.each) {
      if (block.phase == ends_.size()) {
        block.over = first_from(step_begins_, block.birth + 1);
        continue;
      }
      const std::vector<trace::Ordinal>& ends = ends_[block.phase];
      block.over = first_from(ends, block.birth);
      block.event = std::lower_bound(ends.begin(), ends.end(), block.birth) - ends.begin();
    }
    std::sort(out_.each.begin(), out_.each.end(),
              [](const LeftBlock& a, const LeftBlock& b) { return a.birth < b.birth; });
    for (const auto& ends : ends_) out_.events.push_back(ends.size());
    return std::move(out_);
  }

 private:
  // Ends an event of a counted phase here, if the last one ended before.
  void end_event(std::size_t phase) {
    const RecurringOccurrence& counted = question_.counted[phase];
    if (now_ <= counted.from || now_ > counted.until) return;
    if (ends_[phase].empty() || ends_[phase].back() < now_) ends_[phase].push_back(now_);
  }

  // Returns the index of the counted phase that is the path or above it, or their number.
  std::size_t phase_of(PathId path) {
    if (!question_.cycles.empty()) return 0;
    const auto [at, fresh] = phase_of_.try_emplace(path, ends_.size());
    if (!fresh) return at->second;
    for (PathId above = path; above != PathId::other; above = phases().paths().parent_of(above))
      if (const auto counted = counted_at_.find(above); counted != counted_at_.end())
        at->second = counted->second.back();
    return at->second;
  }

  // True if the event of the block's birth was over before its death.
  bool outlives(const std::vector<trace::Ordinal>& ends, trace::Ordinal birth, trace::Ordinal death) const {
    const trace::Ordinal over = first_from(ends, birth);
    return (question_.cycles.empty() || over == kNever ? over : first_from(ends, over + 1)) < death;
  }

  void survived(trace::Ordinal until, bool ends) {
    ledger().each_alive([&](const Block& block) { lived(block, until, ends); });
  }

  // `ends`: the block is gone after `death`.
  void lived(const Block& block, trace::Ordinal death, bool ends = true) {
    const std::uint64_t bytes = block.memory != 0                 ? block.tensor_bytes()
                                : block.counted && !block.sampled ? block.given
                                                                  : 0;
    const auto until = question_.until.find(block.memory);
    if (bytes == 0 || until == question_.until.end()) return;
    const std::size_t phase = phase_of(block.born.path);
    const bool counted = phase < ends_.size();
    const trace::Ordinal instant = counted ? question_.counted[phase].until : until->second;
    if (block.birth > instant || (counted && block.birth <= question_.counted[phase].from)) return;
    if (death > instant) {
      out_.each.push_back({block.memory, block.birth, kNever, bytes, block.stack, block.kind, block.tensor,
                           block.born, phase, static_cast<std::int64_t>(block.born.step)});
      return;
    }
    const bool outlived =
        counted ? outlives(ends_[phase], block.birth, death) : phases().step() > block.born.step;
    if (ends && outlived) out_.freed_later[{block.memory, block.stack}] += bytes;
  }

  const LeftQuestion& question_;
  std::vector<std::vector<trace::Ordinal>> ends_; // of the events of each counted phase, ascending
  std::vector<trace::Ordinal> step_begins_;       // ascending
  std::unordered_map<PathId, std::vector<std::size_t>> counted_at_; // the counted phases of each path
  std::vector<std::size_t> joined_;                                 // the counted phases that are joined
  std::unordered_map<PathId, std::size_t> phase_of_;
  Step step_ = Step::none;
  trace::Ordinal now_ = 0;
  LeftBlocks out_;
};

bool are_between_keyframes(const LeftQuestion& question, const Keyframes& keyframes) {
  if (keyframes.frames().empty() || question.until.empty() || !question.counted.empty() ||
      !question.cycles.empty())
    return false;
  const std::size_t number = keyframes.frames_before(question.until.begin()->second);
  return std::all_of(question.until.begin(), question.until.end(),
                     [&](const auto& one) { return keyframes.frames_before(one.second) == number; });
}

LeftBlocks left_near(const trace::Trace& trace, const LeftQuestion& question, const Keyframes& keyframes) {
  const auto& frames = keyframes.frames();
  const std::size_t number = keyframes.frames_before(question.until.begin()->second);
  const Keyframes::KeptFrame* const from = number == 0 ? nullptr : frames[number - 1].get();
  const trace::Ordinal until = number == frames.size() ? kNever : frames[number]->state.at();
  EventPass events(question);
  if (from != nullptr) events.begin_with(from->freed_later);
  Replay replay = from == nullptr ? Replay(trace) : Replay(trace, from->state);
  replay.run_to(until, events);
  for (const BlockEnd& end : keyframes.ends())
    if (end.at > until) events.ended(end);
  events.set_step_begins(keyframes.step_begins());
  return events.take();
}

} // namespace

LeftBlocks left_blocks(const trace::Trace& trace, const LeftQuestion& question, const Keyframes* keyframes) {
  if (keyframes != nullptr && are_between_keyframes(question, *keyframes))
    return left_near(trace, question, *keyframes);
  files::Budget::of_command().looks(question.counted.size() * trace.records());
  Replay replay(trace);
  EventPass events(question);
  replay.run(events);
  return events.take();
}

bool uses_a_model(const std::string& phase) {
  return phase == "forward" || phase == "eval" || phase == "generate";
}

} // namespace memtrace::replay
