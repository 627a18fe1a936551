// Purpose: which phase and step each thread is in, by the contract's rules.
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

  // Takes phase_begin, phase_end, step and reset; after a gap between windows, `window`, with which all starts
  // from nothing, and `open_phase`. Others: no effect.
  void apply(const trace::Event& event, PhaseWatcher& watcher);
  // Ends what is open at the end of a trace.
  void close(PhaseWatcher& watcher);

  // A thread with no phase of its own is where the thread is that last began or ended one and is in one.
  PhasePosition place(std::uint32_t thread) const;
  // Where a block was born that a snapshot lists as `held`.
  PhasePosition born(const trace::Event& event);
  bool open(OccurrenceId id) const { return open_.contains(id); }
  const Paths& paths() const { return paths_; }
  Step step() const { return step_; }
  // The first step in which an optimizer really updated.
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
  std::unordered_map<std::uint64_t, PhasePosition> born_;    // by what a held block says of it; of one snapshot
  std::map<std::pair<PathId, Step>, OccurrenceId> reopened_; // of one snapshot
  std::unordered_map<std::uint32_t, OfThread> stacks_;       // by thread, none empty
  std::map<std::uint64_t, std::uint32_t>
      recent_; // threads that are in a phase, the last to begin or end one last
  std::uint64_t touches_ = 0;
  std::unordered_set<OccurrenceId> open_;
  std::uint64_t occurrences_ = 0;
  Step step_ = Step::none;
  Step first_update_ = Step::none;
  bool stepped_ = false; // an optimizer's step returned since this step began
};

} // namespace memtrace::replay
