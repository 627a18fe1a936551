// Purpose: states of the first pass, from which the second pass continues near each instant.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "analyzer/attribute/block_residency.h"
#include "analyzer/attribute/reservations.h"
#include "analyzer/attribute/role_by_site.h"
#include "analyzer/replay/replay.h"
#include "analyzer/replay/roles.h"

namespace memtrace::replay {

// The end of a block that was alive at a keyframe: its death, a gap, or the end of the trace.
struct BlockEnd {
  Block block;
  trace::Ordinal at = 0;
  format::Stamp stamp = 0;
  Fate fate;                              // if it died: without the last step of the trace
  std::unique_ptr<const Touches> touches; // null: the block has no scan
};

// Bytes of blocks that died in a later step than that of their birth, by memory and stack. Of a GPU, the bytes
// of tensors. Without samples of small blocks.
using FreedLater = std::map<std::pair<MemoryId, format::StackId>, std::uint64_t>;

// The second pass asks which blocks were alive at some instants, and needs the end of each, because its role is
// known only then. From the keyframe before an instant to the next keyframe, it replays the events. All blocks
// of the instant that are alive at that next keyframe have their ends here. So the rest of the trace is not
// read.
class Keyframes {
 public:
  struct KeptFrame {
    Keyframe state;
    Touched touched;
    FreedLater freed_later; // so far
  };

  explicit Keyframes(const trace::Trace& trace);

  // The first pass calls these, each after the event has taken effect.
  void labelled(const Block& block);
  void died(const Block& block, const trace::Event& event, const Phases& phases) {
    reservations_.add(block, event.ordinal, touched_);
    if (phases.step() > block.born.step) outlived_step(block);
    if (block.birth <= last_) ended(block, event.ordinal, event.stamp, phases, false);
    touched_.forget(block.address, block.birth_stamp);
  }
  void cut(const trace::Event& event, const LiveBlocks& ledger, const Phases& phases);
  void after(const trace::Event& event, const Phases& phases) {
    using enum format::EventType;
    if (phases.step() != step_) {
      step_ = phases.step();
      step_begins_.push_back(event.ordinal);
    }
    const format::EventType type = event.type;
    if (type == sample_touched || type == phase_begin || type == phase_end || type == step)
      follow(event, phases);
  }
  void finished(const LiveBlocks& ledger, const Phases& phases);
  // Adds a keyframe.
  void reached(trace::Trace::Place place, const LiveBlocks& ledger, const Phases& phases);
  trace::Trace::Places& places() { return places_; }

  // Ascending. There are none if the trace is short, or if a copy of its state takes too much memory.
  const std::vector<std::unique_ptr<const KeptFrame>>& frames() const { return frames_; }
  // Returns the number of frames that are not after an instant. The events between frame number - 1 and frame
  // number contain it.
  std::size_t frames_before(trace::Ordinal at) const;
  const std::vector<BlockEnd>& ends() const { return ends_; } // of blocks alive at a frame, in their order
  const SiteRoles& roles() const { return roles_; }           // by all labels of the trace
  const std::vector<trace::Ordinal>& step_begins() const { return step_begins_; } // ascending
  const Reservations& reservations() const { return reservations_; }
  const Paths& paths() const { return paths_; }

  // For tests: the bounds below.
  void set_stride(std::uint64_t records) { places_.stride = records; }

 private:
  // Records between two keyframes at first. A replay of so many takes 30 ms.
  static constexpr std::uint64_t kStride = 1 << 18;
  static constexpr std::size_t kMost = 64;            // frames
  static constexpr std::size_t kMostBytes = 96 << 20; // of all frames and ends

  void follow(const trace::Event& event, const Phases& phases);
  void ended(const Block& block, trace::Ordinal at, format::Stamp stamp, const Phases& phases, bool survived);
  void survived(trace::Ordinal at, format::Stamp stamp, const LiveBlocks& ledger, const Phases& phases);
  void outlived_step(const Block& block);
  std::size_t bytes() const;
  void thin();
  void give_up();

  trace::Trace::Places places_;
  std::vector<std::unique_ptr<const KeptFrame>> frames_;
  std::vector<BlockEnd> ends_;
  trace::Ordinal last_ = 0; // of the last frame
  FreedLater freed_later_;
  std::vector<trace::Ordinal> step_begins_;
  Step step_ = Step::none;
  SiteRoles roles_;
  Touched touched_;
  Reservations reservations_;
  Paths paths_;
  format::Stamp last_stamp_;
  bool modules_seen_;
};

} // namespace memtrace::replay
