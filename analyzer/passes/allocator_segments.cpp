// Purpose: how full the segments of a framework's caching allocator were at an instant, and which blocks kept
// them.
#include "analyzer/passes/allocator_segments.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace memtrace::replay {
namespace {

// True for a block of the allocator inside memory that was counted when the driver returned it.
bool is_inside(const Block& block) {
  return block.memory != 0 && block.tensor && block.kind == format::Kind::none;
}

// True for memory whose address is usable. Other kinds have a handle as address, or come from a pool of the
// driver that already holds the memory.
bool is_segment(const Block& block) {
  return block.counted && (block.kind == format::Kind::device || block.kind == format::Kind::managed);
}

class Watcher : public Observer {
 public:
  explicit Watcher(const std::set<DeviceInstant>& instants) {
    for (const DeviceInstant& instant : instants) {
      memories_.insert(instant.first);
      due_.emplace(instant.second, instant.first);
    }
  }

  std::map<DeviceInstant, Segments> take() { return std::move(found_); }

  void born(const Block& block) override {
    if (!memories_.contains(block.memory)) return;
    if (is_inside(block)) {
      if (const auto home = home_of(block); home != given_.end()) home->second.cut = true;
    } else if (is_segment(block)) {
      given_[{block.memory, block.address}] = {block.given, false};
    }
  }
  void died(const Block& block, const trace::Event&) override {
    if (is_segment(block) && memories_.contains(block.memory)) given_.erase({block.memory, block.address});
  }
  void cut(const trace::Event&) override { given_.clear(); }

  void after(const trace::Event& event, const PhasePosition&) override {
    while (!due_.empty() && due_.begin()->first <= event.ordinal) {
      look(due_.begin()->second, due_.begin()->first);
      due_.erase(due_.begin());
    }
  }

 private:
  struct Reservation {
    std::uint64_t bytes = 0;
    bool cut = false; // true: a block of the allocator was in it
  };
  using Map = std::map<std::pair<MemoryId, std::uint64_t>, Reservation>;

  Map::iterator home_of(const Block& block) {
    auto at = given_.upper_bound({block.memory, block.address});
    if (at == given_.begin()) return given_.end();
    --at;
    const bool within = at->first.first == block.memory && block.address - at->first.second < at->second.bytes;
    return within ? at : given_.end();
  }

  void look(MemoryId memory, trace::Ordinal at) {
    Segments out;
    std::unordered_map<std::uint64_t, AllocatorSegment> segments; // by address
    std::unordered_map<std::uint64_t, std::uint64_t> largest;
    for (const auto& [key, given] : given_)
      if (key.first == memory && given.cut) segments[key.second].bytes = given.bytes;
    ledger().each_alive([&](const Block& block) {
      if (block.memory != memory || !is_inside(block)) return;
      const auto home = home_of(block);
      if (home == given_.end()) {
        out.outside += block.tensor_bytes();
        return;
      }
      AllocatorSegment& segment = segments[home->first.second];
      segment.bytes = home->second.bytes;
      // A trace may be damaged: a block that ends beyond its segment counts up to the segment's end.
      segment.in_blocks += std::min(block.tensor_bytes(), segment.bytes - segment.in_blocks);
      ++segment.blocks;
      std::uint64_t& most = largest[home->first.second];
      if (block.tensor_bytes() <= most) return;
      most = block.tensor_bytes();
      segment.holder = block.stack;
      segment.holder_phase = phases().paths().last(block.born.path);
      segment.holder_step = block.born.step;
    });
    for (const auto& [address, segment] : segments) {
      out.bytes += segment.bytes;
      out.in_blocks += segment.in_blocks;
      out.each.push_back(segment);
    }
    std::sort(out.each.begin(), out.each.end(), [](const AllocatorSegment& a, const AllocatorSegment& b) {
      const auto rest = [](const AllocatorSegment& s) {
        return std::tuple(s.bytes, s.blocks, s.holder, s.holder_phase, s.holder_step);
      };
      return a.unused() != b.unused() ? a.unused() > b.unused() : rest(a) < rest(b);
    });
    found_[{memory, at}] = std::move(out);
  }

  std::set<MemoryId> memories_;
  std::multimap<trace::Ordinal, MemoryId> due_;
  Map given_;
  std::map<DeviceInstant, Segments> found_;
};

} // namespace

std::map<DeviceInstant, Segments> segments_at(const trace::Trace& trace,
                                              const std::set<DeviceInstant>& instants) {
  if (instants.empty()) return {};
  Replay replay(trace);
  Watcher watcher(instants);
  replay.run(watcher);
  return watcher.take();
}

} // namespace memtrace::replay
