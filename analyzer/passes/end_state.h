// Purpose: the state when a trace ended: levels, the last allocations, the levels over time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/attribute/phase_rows.h"
#include "analyzer/replay/replay.h"
#include "analyzer/trace/kernel_samples.h"

namespace memtrace::replay {

// The birth of a block that counts.
struct RecentBirth {
  trace::Ordinal ordinal = 0;
  format::Stamp stamp = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  format::Kind kind = format::Kind::none;
  format::StackId stack{};
  PhasePosition place;
};

// Levels of the host at one instant. `resident` is set only if the instant is a sample.
struct Moment {
  format::Stamp stamp = 0;
  Level level;
  Resident resident;
};

// The state when an allocation failed.
struct Refused {
  trace::Ordinal at = 0;
  PhasePosition place;
  Level level;                     // of the memory that the allocation requested
  std::vector<RecentBirth> births; // the last large births in that memory, newest first
};

struct EndState {
  trace::Ordinal at = 0; // of the last event
  format::Stamp stamp = 0;
  PhasePosition place;                 // at the program's last event
  Level level;                         // of the host
  std::vector<RecentBirth> births;     // the last large births, newest first
  std::optional<RecentBirth> newest;   // the newest large block that is alive
  std::optional<RecentBirth> shared;   // the newest large block of shared memory that is alive
  std::uint64_t born_after_newest = 0; // bytes of large and small blocks born after `newest`, alive or not
  std::vector<Moment> course;          // over the whole run, at most kMoments
  std::deque<Moment> late;             // at the end of the run, closer together
  std::deque<Moment> sampled;          // the last samples, with the levels at them
  std::optional<Refused> refused;      // the last failed allocation
  trace::Samples samples;

  // Returns the levels at, or just before, an instant. Returns nullptr if there are none.
  const Moment* before(format::Stamp instant) const;
  // Returns the last sample taken up to an instant, or nullptr.
  const Moment* sample_before(format::Stamp instant) const;
};

inline constexpr std::uint64_t kLarge = 1 << 20; // bytes

// Collects the end state in a whole pass over a trace. Its memory use is bounded.
class EndStateCollector : public SideObserver {
 public:
  static constexpr std::uint64_t kClose = 2'000'000; // ns between two late moments

  // Call it after the pass.
  EndState take() && { return std::move(last_); }

  void born(const Block& block) override;
  void after(const trace::Event& event, const PhasePosition& place) override;
  void cut(const trace::Event& event) override;
  void finished() override;

 private:
  struct Large {
    RecentBirth birth;
    std::uint64_t born; // bytes of all births up to and including this one
  };

  std::vector<RecentBirth> newest_first(MemoryId memory) const;
  void refused(const trace::Event& event, const PhasePosition& place);
  void newest();
  void sample(const trace::Event& event);
  void moment(format::Stamp stamp);
  void keep_moment(format::Stamp stamp);

  EndState last_;
  std::map<MemoryId, std::deque<Large>> large_; // the last large births, in order
  std::uint64_t born_ = 0;                      // bytes of all births on the host
  std::uint64_t apart_ = kClose;                // ns between two moments of the course
};

} // namespace memtrace::replay
