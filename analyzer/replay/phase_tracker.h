// Purpose: the phase and the step of each thread, by the rules of the contract.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analyzer/replay/phase_position.h"
#include "analyzer/trace/event_merger.h"
#include "analyzer/trace/process_facts.h"

namespace memtrace::replay {

struct Occurrence {
  OccurrenceId id{};
  PathId path{};
  Step step = Step::none; // at its begin
  bool again = false;     // it was open before a gap between windows
};

class PhaseWatcher {
 public:
  virtual ~PhaseWatcher() = default;
  virtual void began(const Occurrence&) {}
  // `skipped`: an optimizer step that did not update.
  virtual void ended(const Occurrence&, bool skipped) { static_cast<void>(skipped); }
};

class Phases {
 public:
  Phases(const trace::Definitions& definitions, const trace::Facts& facts)
      : definitions_(definitions), facts_(facts) {}

  // Takes phase_begin, phase_end, step and reset. After a gap between windows it takes `window`, which discards
  // the open phases, then `open_phase`. Ignores all other events.
  void apply(const trace::Event& event, PhaseWatcher& watcher);
  // If a thread frees a block in a collection of Python's garbage (format::kCollected), begins a phase `gc` on
  // it. The phase ends at the next event of this thread. The recorder does not mark collections: most free no
  // recorded block, and cost nothing. Returns true if a phase began or ended.
  bool follow_collection(const trace::Event& event, PhaseWatcher& watcher) {
    const bool collects = event.type == format::EventType::death && (event.flags & format::kCollected) != 0;
    if (!collects && (collecting_.empty() || event.type == format::EventType::counters)) return false;
    return change_collection(event, collects, watcher);
  }
  // Ends the phases that are open at the end of a trace.
  void close(PhaseWatcher& watcher);

  // Returns the position of a thread. A thread that is not in a phase has the position of another thread that
  // is in one: the last that began or ended a phase.
  PhasePosition place(std::uint32_t thread) const;
  // Returns the position at which a block was born that a snapshot lists as `held`.
  PhasePosition born(const trace::Event& event);
  bool open(OccurrenceId id) const { return open_.contains(id); }
  const Paths& paths() const { return paths_; }
  // Returns the bytes of memory that a copy takes, about.
  std::size_t bytes() const {
    constexpr std::size_t kNode = 64; // of a map, with its value
    return sizeof *this + paths_.bytes() +
           kNode * (name_of_text_.size() + born_.size() + reopened_.size() + recent_.size() + open_.size() +
                    collecting_.size()) +
           stacks_.size() * (kNode + 8 * sizeof(OpenOccurrence));
  }
  Step step() const { return step_; }
  // Returns the first step in which an optimizer really updated. Returns Step::none if there is none yet.
  Step first_update() const { return first_update_; }

 private:
  struct OpenOccurrence {
    Occurrence occurrence;
    NameId name{};
    KnownPhase own = KnownPhase::none;
    KnownPhase known = KnownPhase::none;
    OccurrenceId known_occurrence{};
    bool counts = false; // may begin or end a step
  };
  using Stack = std::vector<OpenOccurrence>;
  struct OfThread {
    Stack frames;
    std::uint64_t touched = 0; // its key in `recent_`
  };

  NameId name(format::TextId text);
  bool change_collection(const trace::Event& event, bool collects, PhaseWatcher& watcher);
  void begin(const trace::Event& event, PhaseWatcher& watcher);
  void restart(const trace::Event& event);
  void reopen(const trace::Event& event, PhaseWatcher& watcher);
  OpenOccurrence frame_of(format::TextId text, std::uint16_t flags);
  void push(std::uint32_t thread, OpenOccurrence frame, PhaseWatcher& watcher);
  void end(const trace::Event& event, PhaseWatcher& watcher);
  void pop(Stack& stack, bool skipped, PhaseWatcher& watcher);
  void touch(std::uint32_t thread);
  void advance(const Stack& stack, const OpenOccurrence& beginning, std::uint16_t flags);

  const trace::Definitions& definitions_;
  const trace::Facts& facts_;
  Paths paths_;
  std::unordered_map<format::TextId, NameId> name_of_text_;
  std::unordered_map<std::uint64_t, PhasePosition> born_;    // by path and step of a held block; per snapshot
  std::map<std::pair<PathId, Step>, OccurrenceId> reopened_; // of one snapshot
  std::unordered_map<std::uint32_t, OfThread> stacks_;       // by thread; none is empty
  std::map<std::uint64_t, std::uint32_t> recent_; // threads in a phase; the last to begin or end one is last
  std::uint64_t touches_ = 0;
  std::unordered_set<OccurrenceId> open_;
  std::unordered_set<std::uint32_t> collecting_; // threads in a phase that follow_collection() began
  std::uint64_t occurrences_ = 0;
  Step step_ = Step::none;
  Step first_update_ = Step::none;
  bool stepped_ = false; // an optimizer's step returned since this step began
};

} // namespace memtrace::replay
