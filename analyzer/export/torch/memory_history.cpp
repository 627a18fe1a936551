// Purpose: the allocations of one memory up to an instant, in the terms of PyTorch's memory snapshots.
#include "analyzer/export/torch/memory_history.h"

#include <map>

#include "analyzer/files/read_budget.h"

namespace memtrace::report {
namespace {

using replay::Block;
using replay::Measure;

class HistoryOfMemory : public replay::Observer {
 public:
  HistoryOfMemory(replay::MemoryId memory, Measure measure, trace::Ordinal until, std::uint64_t skipped,
                  const std::function<void(const HistoryEvent&)>& take)
      : memory_(memory), measure_(measure), until_(until), skipped_(skipped), take_(take) {}

  void born(const Block& block) override {
    if (block.memory != memory_ || block.sampled || over_) return;
    pending_.push_back(block);
  }

  void died(const Block& block, const trace::Event& event) override {
    if (block.memory != memory_ || over_ || event.ordinal > until_) return;
    place_pending(event.stamp);
    if (is_block(block)) leave(block.address, event.stamp);
    if (is_segment(block)) leave_segment(block.address, event.stamp);
  }

  // What was alive is unknown from here on. What is alive after the gap is born anew.
  void cut(const trace::Event& event) override {
    if (over_ || event.ordinal > until_) return;
    place_pending(event.stamp);
    while (!blocks_.empty()) leave(blocks_.begin()->first, event.stamp);
    while (!segments_.empty()) leave_segment(segments_.begin()->first, event.stamp);
  }

  void after(const trace::Event& event, const replay::PhasePosition&) override {
    if (over_) return;
    if (event.ordinal > until_) return close();
    place_pending(event.stamp);
    if (event.ordinal == until_) close();
  }
  void finished() override { close(); }

  HistoryEnd take_end() { return std::move(end_); }

 private:
  std::uint64_t bytes_of(const Block& block) const {
    return measure_ == Measure::tensor ? block.tensor_bytes() : block.given;
  }
  bool is_block(const Block& block) const {
    return (measure_ == Measure::tensor ? block.tensor : block.counted) && bytes_of(block) != 0;
  }
  // On a device, what is alive beside tensors came from the driver.
  bool is_segment(const Block& block) const {
    return measure_ == Measure::tensor && memory_ != 0 && !block.tensor && block.counted && block.given != 0;
  }

  void say(HistoryAction action, std::uint64_t address, std::uint64_t bytes, format::StackId stack,
           format::Stamp stamp) {
    if (end_.events++ >= skipped_) take_({action, address, bytes, stack, stamp});
  }

  void place_pending(format::Stamp stamp) {
    for (const Block& block : pending_) {
      if (is_segment(block)) enter_segment({block.address, block.given, block.stack, {}}, false, stamp);
      if (is_block(block)) enter({block.address, bytes_of(block), block.stack}, stamp);
    }
    pending_.clear();
  }

  // Returns true if no live block has any of these bytes.
  template <class Map>
  static bool is_free(const Map& map, std::uint64_t address, std::uint64_t bytes) {
    const auto next = map.lower_bound(address);
    if (next != map.end() && next->first - address < bytes) return false;
    if (next == map.begin()) return true;
    const auto before = std::prev(next);
    return address - before->first >= before->second.bytes;
  }

  void enter_segment(const PlacedSegment& segment, bool own, format::Stamp stamp) {
    if (!is_free(segments_, segment.address, segment.bytes)) return;
    segments_[segment.address] = {segment.bytes, segment.stack, own};
    say(HistoryAction::segment_alloc, segment.address, segment.bytes, segment.stack, stamp);
  }

  bool in_segment(const PlacedBlock& block) const {
    auto at = segments_.upper_bound(block.address);
    if (at == segments_.begin()) return false;
    --at;
    const std::uint64_t offset = block.address - at->first;
    return offset < at->second.bytes && block.bytes <= at->second.bytes - offset;
  }

  void enter(const PlacedBlock& block, format::Stamp stamp) {
    if (!is_free(blocks_, block.address, block.bytes)) return; // of a trace with losses
    if (!in_segment(block)) enter_segment({block.address, block.bytes, block.stack, {}}, true, stamp);
    blocks_[block.address] = block;
    say(HistoryAction::alloc, block.address, block.bytes, block.stack, stamp);
  }

  void leave(std::uint64_t address, format::Stamp stamp) {
    const auto at = blocks_.find(address);
    if (at == blocks_.end()) return;
    const PlacedBlock block = at->second;
    blocks_.erase(at);
    say(HistoryAction::free_requested, address, block.bytes, block.stack, stamp);
    say(HistoryAction::free_completed, address, block.bytes, block.stack, stamp);
    const auto segment = segments_.find(address);
    if (segment != segments_.end() && segment->second.own) leave_segment(address, stamp);
  }

  void leave_segment(std::uint64_t address, format::Stamp stamp) {
    const auto at = segments_.find(address);
    if (at == segments_.end()) return;
    const OpenSegment segment = at->second;
    segments_.erase(at);
    say(HistoryAction::segment_free, address, segment.bytes, segment.stack, stamp);
  }

  void close() {
    if (over_) return;
    over_ = true;
    for (const auto& [address, segment] : segments_)
      end_.segments.push_back({address, segment.bytes, segment.stack, {}});
    auto into = end_.segments.begin();
    for (const auto& [address, block] : blocks_) {
      while (into != end_.segments.end() && address - into->address >= into->bytes) ++into;
      if (into == end_.segments.end()) break; // its segment was freed before it
      into->blocks.push_back(block);
      end_.bytes += block.bytes;
    }
  }

  struct OpenSegment {
    std::uint64_t bytes = 0;
    format::StackId stack{};
    bool own = false; // it is one block
  };

  const replay::MemoryId memory_;
  const Measure measure_;
  const trace::Ordinal until_;
  const std::uint64_t skipped_;
  const std::function<void(const HistoryEvent&)>& take_;
  bool over_ = false;
  std::vector<Block> pending_; // of the present event
  std::map<std::uint64_t, OpenSegment> segments_;
  std::map<std::uint64_t, PlacedBlock> blocks_;
  HistoryEnd end_;
};

} // namespace

HistoryEnd memory_history(const trace::Trace& trace, replay::MemoryId memory, Measure measure,
                          trace::Ordinal until, std::uint64_t skipped,
                          const std::function<void(const HistoryEvent&)>& take) {
  files::Budget::of_command().looks(trace.records());
  replay::Replay replay(trace);
  HistoryOfMemory history(memory, measure, until, skipped, take);
  replay.run(history);
  return history.take_end();
}

} // namespace memtrace::report
