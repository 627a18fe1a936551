// Purpose: the phase and the step of each thread, by the rules of the contract.
#include "analyzer/replay/phase_tracker.h"

#include <algorithm>

namespace memtrace::replay {
namespace {

using format::EventType;

constexpr std::size_t kDeepest = 128; // a loop of begins must be bounded: each open phase has levels

// Returns the step that a snapshot codes. The code 0 is Step::none.
Step step_of(std::uint32_t coded) {
  return static_cast<Step>(std::int64_t{coded} - 1);
}

// Returns the step that the program counts. Never returns Step::none.
Step step_of_count(std::uint64_t number) {
  return static_cast<Step>(number & ~(std::uint64_t{1} << 63));
}

template <typename Stack>
bool holds(const Stack& stack, std::initializer_list<KnownPhase> any) {
  return std::any_of(stack.begin(), stack.end(), [&](const auto& frame) {
    return std::find(any.begin(), any.end(), frame.own) != any.end();
  });
}

} // namespace

NameId Phases::name(format::TextId id) {
  const auto [at, fresh] = name_of_text_.try_emplace(id, NameId::other);
  if (fresh) at->second = paths_.name(definitions_.whole_text(id));
  return at->second;
}

void Phases::apply(const trace::Event& event, PhaseWatcher& watcher) {
  switch (event.type) {
    case EventType::phase_begin:
      if ((event.flags & format::kInstant) == 0) begin(event, watcher);
      break;
    case EventType::phase_end:
      end(event, watcher);
      break;
    case EventType::step:
      step_ = step_of_count(event.as<format::StepEvent>().number);
      break;
    case EventType::reset:
      close(watcher);
      step_ = first_update_ = Step::none;
      stepped_ = false;
      break;
    case EventType::window:
      restart(event);
      break;
    case EventType::open_phase:
      reopen(event, watcher);
      break;
    default:
      break;
  }
}

// Begins the next step at the first forward or backward after an optimizer's step returned. If an optimizer's
// step has a closure, it contains them, so the next step begins at this optimizer's step. The events between
// (zero_grad, the loader) still belong to the old step.
void Phases::advance(const Stack& stack, const OpenOccurrence& beginning, std::uint16_t flags) {
  if (facts_.step_records || !beginning.counts) return;
  const bool forward = beginning.own == KnownPhase::forward && (flags & format::kGradOff) == 0 &&
                       !holds(stack, {KnownPhase::forward, KnownPhase::recompute, KnownPhase::backward,
                                      KnownPhase::step, KnownPhase::eval});
  const bool backward =
      beginning.own == KnownPhase::backward && !holds(stack, {KnownPhase::backward, KnownPhase::step});
  if (!forward && !backward && beginning.own != KnownPhase::step) return;
  const bool update = beginning.own == KnownPhase::step &&
                      ((flags & format::kClosure) == 0 || holds(stack, {KnownPhase::step}));
  if (step_ == Step::none) {
    step_ = Step{0};
  } else if (!update && (stepped_ || (!facts_.step_phases && forward))) {
    step_ = next(step_);
  } else {
    return;
  }
  stepped_ = false;
}

void Phases::begin(const trace::Event& event, PhaseWatcher& watcher) {
  const auto phase = event.as<format::PhaseBeginEvent>();
  Stack& stack = stacks_[event.thread].frames;
  // After a loss, the depth in the record tells how many ends are missing.
  while (event.after_gap && stack.size() > phase.depth_before) pop(stack, false, watcher);
  if (stack.size() >= kDeepest) return;
  OpenOccurrence frame = frame_of(phase.name, event.flags);
  advance(stack, frame, event.flags);
  frame.occurrence.step = step_;
  push(event.thread, frame, watcher);
}

Phases::OpenOccurrence Phases::frame_of(format::TextId text, std::uint16_t flags) {
  OpenOccurrence frame;
  frame.name = name(text);
  frame.own = known_phase(paths_.text(frame.name));
  // The user's marks begin steps only if memtrace itself did not find any phase.
  frame.counts = (flags & format::kAuto) != 0 || !facts_.auto_phases;
  return frame;
}

void Phases::push(std::uint32_t thread, OpenOccurrence frame, PhaseWatcher& watcher) {
  Stack& stack = stacks_[thread].frames;
  if (stack.size() >= kDeepest) return;
  frame.occurrence.id = static_cast<OccurrenceId>(++occurrences_);
  frame.occurrence.path =
      paths_.below(stack.empty() ? PathId::other : stack.back().occurrence.path, frame.name);
  const bool own = frame.own != KnownPhase::none || stack.empty();
  frame.known = own ? frame.own : stack.back().known;
  frame.known_occurrence = own ? frame.occurrence.id : stack.back().known_occurrence;
  open_.insert(frame.occurrence.id);
  stack.push_back(frame);
  touch(thread);
  watcher.began(frame.occurrence);
}

// Continues with the state when a window began. The phases that were open before are not ended here, because
// the time of their end is unknown.
void Phases::restart(const trace::Event& event) {
  stacks_.clear();
  recent_.clear();
  open_.clear();
  born_.clear();
  reopened_.clear();
  collecting_.clear();
  const auto window = event.as<format::WindowEvent>();
  step_ = step_of(window.step_plus_1);
  stepped_ = (window.stepped & 1) != 0;
  if (first_update_ == Step::none) first_update_ = step_of(window.first_update_plus_1);
}

void Phases::reopen(const trace::Event& event, PhaseWatcher& watcher) {
  born_.clear();
  const auto phase = event.as<format::OpenPhaseEvent>();
  OpenOccurrence frame = frame_of(phase.name, event.flags);
  frame.occurrence.step = step_of(phase.step_plus_1);
  frame.occurrence.again = true;
  push(phase.thread, frame, watcher);
  const Occurrence& top = stacks_[phase.thread].frames.back().occurrence;
  reopened_[{top.path, top.step}] = top.id;
}

PhasePosition Phases::born(const trace::Event& event) {
  const auto held = event.as<format::HeldEvent>();
  const std::uint64_t said = format::halves(static_cast<std::uint32_t>(held.path), held.step_plus_1);
  const auto [at, fresh] = born_.try_emplace(said);
  PhasePosition& place = at->second;
  if (!fresh) return place;
  if (held.path != format::TextId{}) place.path = paths_.joined(definitions_.whole_text(held.path));
  place.step = step_of(held.step_plus_1);
  // Finds the innermost known phase that the block was born in, and its occurrence if that has not ended since.
  PathId path = place.path;
  while (path != PathId::other && place.known == KnownPhase::none) {
    place.known = known_phase(paths_.text(paths_.last(path)));
    if (place.known == KnownPhase::none) path = paths_.parent_of(path);
  }
  if (const auto open = reopened_.find({path, place.step}); open != reopened_.end())
    place.occurrence = open->second;
  return place;
}

void Phases::end(const trace::Event& event, PhaseWatcher& watcher) {
  const auto at = stacks_.find(event.thread);
  if (at == stacks_.end()) return;
  Stack& stack = at->second.frames;
  const NameId wanted = name(event.as<format::PhaseEndEvent>().name);
  const auto hit = std::find_if(stack.rbegin(), stack.rend(),
                                [&](const OpenOccurrence& frame) { return frame.name == wanted; });
  if (hit == stack.rend()) return; // its begin was lost
  const auto keep = static_cast<std::size_t>(stack.rend() - hit) - 1;
  while (stack.size() > keep + 1) pop(stack, false, watcher); // left open by an exception
  pop(stack, (event.flags & format::kSkipped) != 0, watcher);
  touch(event.thread);
}

void Phases::pop(Stack& stack, bool skipped, PhaseWatcher& watcher) {
  const OpenOccurrence frame = stack.back();
  stack.pop_back();
  open_.erase(frame.occurrence.id);
  if (frame.own == KnownPhase::step && frame.counts && !holds(stack, {KnownPhase::step})) {
    stepped_ = true;
    if (!skipped && first_update_ == Step::none) first_update_ = step_;
  }
  watcher.ended(frame.occurrence, skipped);
}

bool Phases::change_collection(const trace::Event& event, bool collects, PhaseWatcher& watcher) {
  if (collecting_.contains(event.thread) == collects) return false;
  if (collects) {
    OpenOccurrence frame;
    frame.name = paths_.name("gc");
    frame.occurrence.step = step_;
    Stack& stack = stacks_[event.thread].frames;
    const std::size_t depth = stack.size();
    push(event.thread, frame, watcher);
    if (stack.size() == depth) return false; // too deep
    collecting_.insert(event.thread);
  } else {
    collecting_.erase(event.thread);
    pop(stacks_.at(event.thread).frames, false, watcher);
    touch(event.thread);
  }
  return true;
}

// Makes `thread` the one whose phase is the process's, or removes it if it is not in a phase.
void Phases::touch(std::uint32_t thread) {
  const auto at = stacks_.find(thread);
  if (at == stacks_.end()) return;
  recent_.erase(at->second.touched);
  if (at->second.frames.empty()) {
    stacks_.erase(at);
  } else {
    at->second.touched = ++touches_;
    recent_.emplace_hint(recent_.end(), touches_, thread);
  }
}

void Phases::close(PhaseWatcher& watcher) {
  std::vector<Occurrence> open;
  for (const auto& [thread, stack] : stacks_)
    for (const OpenOccurrence& frame : stack.frames) open.push_back(frame.occurrence);
  // The oldest first: the entry of a row is that of its first occurrence.
  std::sort(open.begin(), open.end(), [](const Occurrence& a, const Occurrence& b) { return a.id < b.id; });
  stacks_.clear();
  recent_.clear();
  open_.clear();
  collecting_.clear();
  for (const Occurrence& one : open) watcher.ended(one, false);
}

PhasePosition Phases::place(std::uint32_t thread) const {
  auto at = stacks_.find(thread);
  if ((at == stacks_.end() || at->second.frames.empty()) && !recent_.empty())
    at = stacks_.find(recent_.rbegin()->second);
  if (at == stacks_.end() || at->second.frames.empty())
    return {PathId::other, step_, KnownPhase::none, OccurrenceId::none};
  const OpenOccurrence& top = at->second.frames.back();
  return {top.occurrence.path, top.occurrence.step, top.known, top.known_occurrence};
}

} // namespace memtrace::replay
