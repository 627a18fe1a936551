// Purpose: the turning points of all levels, from which the peaks follow without another pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "analyzer/passes/local_peaks.h"

namespace memtrace::replay {

// The tops and valleys of one level, and the blocks that were made between them. Of two tops that follow each
// other, the level between fell by at least `part` of the highest level so far.
//
// The peaks of a larger depth are among these tops, and their valleys are among these valleys. So a tracker of
// that depth, which is told only these, finds the peaks that it would find if it were told each event. Between
// two turning points, it needs the first of the largest blocks, and each block that is larger than all later
// ones: one of them is the last block of at least `depth` bytes.
class LevelHistory {
 public:
  // `room`: how many parts may still be kept. Several histories may share it, and it outlives them.
  LevelHistory(double part, std::int64_t level, std::size_t& room);

  void born(std::uint64_t bytes, format::StackId stack);
  // The level after an event. Call it after the event's births.
  void reached(std::int64_t level, trace::Ordinal at, const PhasePosition& place) {
    if (rises_ ? level > turn_.value || level <= turns_at_ : level < turn_.value || level >= turns_at_)
      move(level, at, place);
  }
  // Returns the peaks, as local_peaks() does. Returns nullopt if the history does not have all of them.
  std::optional<std::vector<LocalPeak>> peaks(std::int64_t depth) const;

 private:
  struct MadeBlock {
    std::uint64_t bytes = 0;
    format::StackId stack{};
  };
  struct MadeBlocks {
    MadeBlock first_largest;
    std::vector<MadeBlock> falling; // of at least the depth then: each is larger than all later ones
    void add(MadeBlock block, std::int64_t depth);
    void add(MadeBlocks& later); // clears `later`
  };
  // A block, or a turning point.
  struct HistoryPart {
    std::int64_t value = 0; // bytes
    trace::Ordinal at = 0;  // 0 for a block, and for the level at the begin
    Step step = Step::none;
    PathId path = PathId::other;
    format::StackId stack{};
    bool block = false;
  };

  void move(std::int64_t level, trace::Ordinal at, const PhasePosition& place);
  void turn_to(std::int64_t level, trace::Ordinal at, const PhasePosition& place);
  void set_turn(std::int64_t level, trace::Ordinal at, const PhasePosition& place);
  template <class Take>
  static void each(const MadeBlocks& made, Take take);
  void give_up();

  double part_;
  std::int64_t begin_;
  std::size_t* room_;
  std::int64_t highest_;
  std::int64_t depth_ = 1;
  bool rises_ = true;
  bool whole_ = true;         // false: too many parts, or a level or a block that no program can have
  HistoryPart turn_;          // the highest level since the last valley, or the lowest since the last top
  std::int64_t turns_at_ = 0; // the level from which on `turn_` is a turning point
  MadeBlocks before_;         // made between the last turning point and `turn_`
  MadeBlocks after_;          // made after `turn_`
  std::deque<HistoryPart> parts_;
};

// The histories of all memories, in any whole pass over a trace.
class PeakHistory : public SideObserver {
 public:
  // Peaks of a depth below `part` of the highest level are not known. `most`: parts of all histories.
  explicit PeakHistory(double part, std::size_t most = kMost) : part_(part), room_(most) {}

  void started() override;
  void born(const Block& block) override;
  void after(const trace::Event& event, const PhasePosition& place) override;

  // Returns the peaks, as local_peaks() does. Returns nullopt if the history does not have all of them.
  std::optional<std::vector<LocalPeak>> peaks(MemoryId memory, Measure measure, std::int64_t depth) const;

 private:
  static constexpr std::size_t kMost = 1 << 20; // 40 MiB

  struct Histories {
    LevelHistory live, tensor;
  };
  Histories& of(MemoryId memory);
  void reached(MemoryId memory, const trace::Event& event, const PhasePosition& place);

  double part_;
  std::size_t room_;                                 // for parts of all histories
  std::vector<std::unique_ptr<Histories>> memories_; // by MemoryId
  // A snapshot was seen, and has deaths whose births come later. An event may then change the levels of other
  // memories.
  bool all_may_change_ = false;
};

} // namespace memtrace::replay
