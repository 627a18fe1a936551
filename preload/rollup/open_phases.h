// Purpose: the phase and step of each thread, by the rules of analyzer/replay/phase_tracker.h, and the levels
// that each open phase has seen.
// Runs: in the drain and, when its ring is full, on the program's thread.
#pragma once

#include "preload/rollup/live_ledger.h"

namespace memtrace::rollup {

struct MeasureLevels { // the levels of one measure in one phase
  std::int64_t entry;
  std::int64_t peak;
};

struct ResidentParts {
  std::int64_t part[3]; // anon, file, shmem
  std::int64_t sum() const { return part[0] + part[1] + part[2]; }
};

struct PhaseFrame {
  bool used;
  bool counts; // may begin or end a step
  bool has_resident;
  CountedPhase own;
  std::uint16_t flags;
  std::uint32_t thread;
  std::uint32_t below; // the frame around it on its thread, + 1; 0: none
  std::uint32_t depth; // the number of frames around it
  format::TextId name;
  format::Stamp begin;
  PhasePlace place;
  ResidentParts resident[3]; // at entry, exit, peak
  MeasureLevels spans[kMemories][kMeasures];
};

class OpenPhases {
 public:
  void begin(const Host& host, std::uint32_t thread, const format::RingRecord& record, Ledger& ledger);
  void end(const Host& host, std::uint32_t thread, const format::RingRecord& record, Ledger& ledger);
  void step(std::uint64_t number, Ledger& ledger);
  void reset(const Host& host, Ledger& ledger);
  void close(const Host& host, Ledger& ledger); // closes all open phases
  void sample(const ResidentParts& now);

  // Returns the phase and step of `thread`. If the thread is not in a phase, these are of the thread that last
  // began or ended a phase and is still in one.
  PhasePlace place(std::uint32_t thread) const;
  StepId now() const { return step_; }
  bool stepped() const { return stepped_; }
  StepId first_update() const { return first_update_; }
  const PhasePaths& paths() const { return paths_; }
  PhasePaths& paths() { return paths_; }

  // Gives `take` the open phases, thread by thread, outermost first. The thread of the last mark comes last.
  template <class Take>
  void each(Take take) const {
    for (std::uint32_t i = 0; i < recent_used_; ++i) each_of(recent_.at[i].top, take);
  }
  std::size_t bytes() const { return frames_.bytes() + recent_.bytes() + paths_.bytes(); }

 private:
  static constexpr std::uint32_t kDeepest = 128;
  static constexpr std::uint32_t kFrames = 1024; // of all threads: 1 MiB

  struct Recent { // a thread that is in a phase
    std::uint32_t thread;
    std::uint32_t top; // frame + 1
  };
  template <class Take>
  void each_of(std::uint32_t top, Take take) const {
    std::uint32_t frames[kDeepest];
    std::uint32_t depth = 0;
    for (; top != 0 && depth < kDeepest; top = frames_.at[top - 1].below) frames[depth++] = top;
    while (depth != 0) take(frames_.at[frames[--depth] - 1]);
  }
  PhaseFrame& frame(std::uint32_t top) { return frames_.at[top - 1]; }
  const PhaseFrame& frame(std::uint32_t top) const { return frames_.at[top - 1]; }
  std::uint32_t top_of(std::uint32_t thread) const;
  std::uint32_t fresh(const Host& host);
  PhaseFrame* oldest();
  bool holds(std::uint32_t top, unsigned any) const;
  void learn(std::uint16_t flags, CountedPhase own, Ledger& ledger);
  void recount(StepId most, Ledger& ledger);
  void advance(std::uint32_t top, const PhaseFrame& beginning, std::uint16_t flags);
  void gather(Ledger& ledger);
  void pop(const Host& host, std::uint32_t* top, bool skipped, Ledger& ledger);
  void account(const Host& host, const PhaseFrame& ended, bool skipped, Ledger& ledger);
  void touch(const Host& host, std::uint32_t thread, std::uint32_t top);

  PhasePaths paths_;
  Growing<PhaseFrame> frames_;
  std::uint32_t frames_end_ = 0; // all frames from here on are free
  Growing<Recent> recent_;
  std::uint32_t recent_used_ = 0;
  StepId step_ = kNoStep;
  StepId first_update_ = kNoStep;
  bool stepped_ = false; // an optimizer's step returned since this step began
  // These facts decide how steps are counted. The analyzer knows them in advance. If one of them becomes true
  // during the run, the steps that were counted without it do not count any more.
  bool saw_auto_ = false;   // memtrace found phases: the user's marks do not count steps then
  bool saw_step_ = false;   // a phase `step` was seen: a forward alone does not count then
  bool saw_record_ = false; // the user's own step numbers were seen
};

} // namespace memtrace::rollup
