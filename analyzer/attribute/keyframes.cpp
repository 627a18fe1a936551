// Purpose: states of the first pass, from which the second pass continues near each instant.
#include "analyzer/attribute/keyframes.h"

#include <algorithm>
#include <utility>

namespace memtrace::replay {

Keyframes::Keyframes(const trace::Trace& trace)
    : last_stamp_(trace.facts().last_stamp), modules_seen_(trace.facts().parameters.has_value()) {
  places_.stride = kStride;
}

void Keyframes::labelled(const Block& block) {
  roles_.labelled(block);
}

// Not inline, because most blocks are born and die between two keyframes.
void Keyframes::ended(const Block& block, trace::Ordinal at, format::Stamp stamp, const Phases& phases,
                      bool survived) {
  const Touches* const touches = touched_.of(block.address, block.birth_stamp);
  ends_.push_back({block,
                   at,
                   stamp,
                   {survived, phases.open(block.born.occurrence), phases.step(),
                    survived ? phases.step() : Step::none, modules_seen_},
                   touches == nullptr ? nullptr : std::make_unique<const Touches>(*touches)});
}

void Keyframes::survived(trace::Ordinal at, format::Stamp stamp, const LiveBlocks& ledger,
                         const Phases& phases) {
  ledger.each_alive([&](const Block& block) {
    reservations_.add(block, at, touched_);
    if (block.birth <= last_) ended(block, at, stamp, phases, true);
  });
}

void Keyframes::cut(const trace::Event& event, const LiveBlocks& ledger, const Phases& phases) {
  survived(event.ordinal, event.stamp, ledger, phases);
}

void Keyframes::finished(const LiveBlocks& ledger, const Phases& phases) {
  survived(~trace::Ordinal{0}, last_stamp_, ledger, phases);
  paths_ = phases.paths();
}

void Keyframes::follow(const trace::Event& event, const Phases& phases) {
  if (event.type == format::EventType::sample_touched) return touched_.look(event);
  const PhasePosition place = phases.place(0);
  touched_.moved(event.stamp, place.path, place.step);
}

void Keyframes::reached(trace::Trace::Place place, const LiveBlocks& ledger, const Phases& phases) {
  if (ledger.bytes() + phases.bytes() + touched_.bytes() > kMostBytes / 4) return give_up();
  frames_.push_back(
      std::make_unique<const KeptFrame>(KeptFrame{{std::move(place), ledger, phases}, touched_, freed_later_}));
  last_ = frames_.back()->state.at();
  while (!frames_.empty() && (frames_.size() > kMost || bytes() > kMostBytes)) thin();
}

void Keyframes::outlived_step(const Block& block) {
  const std::uint64_t bytes = block.memory != 0                 ? block.tensor_bytes()
                              : block.counted && !block.sampled ? block.given
                                                                : 0;
  if (bytes != 0) freed_later_[{block.memory, block.stack}] += bytes;
}

std::size_t Keyframes::frames_before(trace::Ordinal at) const {
  const auto next =
      std::upper_bound(frames_.begin(), frames_.end(), at,
                       [](trace::Ordinal instant, const auto& frame) { return instant < frame->state.at(); });
  return static_cast<std::size_t>(next - frames_.begin());
}

std::size_t Keyframes::bytes() const {
  std::size_t out = ends_.size() * sizeof ends_[0];
  constexpr std::size_t kNode = 64; // of a map, with its value
  for (const auto& frame : frames_)
    out += frame->state.bytes() + frame->touched.bytes() + kNode * frame->freed_later.size();
  return out;
}

// Drops every second keyframe, and the ends that no other one needs.
void Keyframes::thin() {
  if (frames_.size() < 4) return give_up();
  std::vector<std::unique_ptr<const KeptFrame>> kept;
  for (std::size_t i = 1; i < frames_.size(); i += 2) kept.push_back(std::move(frames_[i]));
  frames_ = std::move(kept);
  places_.stride = 2 * places_.stride;
  last_ = frames_.back()->state.at();
  std::erase_if(ends_, [this](const BlockEnd& end) {
    const auto frame =
        std::lower_bound(frames_.begin(), frames_.end(), end.block.birth,
                         [](const auto& one, trace::Ordinal birth) { return one->state.at() < birth; });
    return frame == frames_.end() || (*frame)->state.at() >= end.at;
  });
}

void Keyframes::give_up() {
  places_.stride = 0;
  frames_.clear();
  ends_.clear();
  last_ = 0;
}

} // namespace memtrace::replay
