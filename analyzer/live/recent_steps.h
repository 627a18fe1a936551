// Purpose: the last steps, their phases and the newest large allocations, event by event.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "analyzer/replay/replay.h"

namespace memtrace::live {

using replay::MemoryId;
using replay::Step;

// Levels of the memories that were used, by MemoryId.
using Levels = std::vector<std::int64_t>;
inline std::int64_t level_in(const Levels& levels, std::size_t memory) {
  return memory < levels.size() ? levels[memory] : 0;
}

struct RecentStep {
  Step step = Step::none;
  format::Stamp began = 0;
  Levels begin, peak; // live bytes
};

// All occurrences of one path in one step.
struct PathFigures {
  Levels peak, transient, net; // bytes of inner_levels()
};
using PathTable = std::map<replay::PathId, PathFigures>;

// The newest allocation of a site that allocates much at once.
struct LargeBirth {
  format::StackId stack{};
  MemoryId memory = 0;
  std::uint64_t bytes = 0;
  std::uint64_t times = 1;
  format::Stamp stamp = 0;
  replay::PhasePosition place;
};

struct SampledLevel {
  format::Stamp stamp = 0;
  std::int64_t live = 0; // of the host
};

// What all processes used of a GPU at the last sample, in bytes.
struct SampledUse {
  std::uint64_t used = 0;
  std::int64_t live = 0; // of this process, at that time
};

// Bounded memory: the last kSteps steps, the phases of two of them.
class RecentSteps : public replay::Observer {
 public:
  static constexpr std::size_t kSteps = 256;
  static constexpr std::size_t kLarge = 8;
  static constexpr std::size_t kSampled = 600; // 5 minutes

  const std::deque<RecentStep>& steps() const { return steps_; }
  // Returns the phases of the last whole step, or those of the present one if there is no whole step.
  const PathTable& path_table() const { return whole_ == Step::none ? present_ : last_; }
  Step phases_of() const { return whole_; } // none: of the present step, or of the run without steps
  const std::vector<LargeBirth>& large() const { return large_; } // newest first
  const std::deque<SampledLevel>& sampled() const { return sampled_; }
  const std::map<std::size_t, SampledUse>& device_uses() const { return device_uses_; } // by MemoryId
  const replay::PhasePosition& place() const { return place_; } // of the last event of the program
  std::size_t memories() const { return memories_; }
  // True if the figures of phases are of tensors: on a GPU that has some.
  bool of_tensors(std::size_t memory) const { return with_tensors_.contains(memory); }
  format::Stamp last() const { return last_stamp_; }

  void began(const replay::Occurrence& occurrence) override;
  void ended(const replay::Occurrence& occurrence, bool skipped) override;
  void born(const replay::Block& block) override;
  void labelled(const replay::Block& block) override { to_label_.push_back(block); }
  void after(const trace::Event& event, const replay::PhasePosition& place) override;
  void cut(const trace::Event& event) override;

  // Returns the blocks that were labelled since the last call.
  std::vector<replay::Block> take_labels() { return std::exchange(to_label_, {}); }

 private:
  struct LiveOccurrence {
    replay::OccurrenceId id{};
    replay::PathId path{};
    Step step = Step::none;
    Levels entry, peak; // of inner_levels()
  };
  Levels levels() const;
  // Returns the live bytes of the host, and the tensors of each GPU that has some: they tell what a phase adds,
  // while the allocator keeps its segments.
  Levels inner_levels() const;
  std::int64_t inner_level(std::size_t memory) const;
  void step_begins(Step step);
  void close(const LiveOccurrence& open);
  void note_use(const trace::Event& event);

  std::deque<RecentStep> steps_;
  std::vector<LiveOccurrence> open_;
  PathTable present_, last_;
  Step whole_ = Step::none;
  Step now_ = Step::none;
  std::vector<LargeBirth> large_;
  std::set<std::size_t> with_tensors_; // GPUs
  std::map<std::size_t, SampledUse> device_uses_;
  std::deque<SampledLevel> sampled_;
  std::vector<replay::Block> to_label_;
  replay::PhasePosition place_;
  format::Stamp last_stamp_ = 0;
  std::size_t memories_ = 1;
};

} // namespace memtrace::live
