// Purpose: what a device held before the first event of its history, and how large the blocks of the history
// are that were alive at the snapshot.
#include "analyzer/snapshot/before_history.h"

#include <map>

#include "preload/format/block_rules.h"

namespace memtrace::snapshot {

BeforeHistory before_history(const SnapshotAllocator& device) {
  BeforeHistory out;
  out.sizes.resize(device.events.size());
  std::map<std::uint64_t, TorchBlock> blocks;
  std::map<std::uint64_t, TorchSegment> segments;
  for (const TorchBlock& block : device.blocks) blocks[block.address] = block;
  for (const TorchSegment& segment : device.segments) {
    if (segment.expandable)
      out.pages.add({segment.address, format::end_of(segment.address, segment.bytes), {}});
    else
      segments[segment.address] = segment;
  }
  for (std::size_t i = device.events.size(); i-- > 0;) {
    const TorchEvent& event = device.events[i];
    const std::uint64_t end = format::end_of(event.address, event.bytes);
    switch (event.action) {
      case TorchAction::alloc:
        if (const auto at = blocks.find(event.address); at != blocks.end()) {
          out.sizes[i] = at->second.bytes;
          blocks.erase(at);
        }
        break;
      case TorchAction::free_requested:
        blocks.try_emplace(event.address, TorchBlock{event.address, 0, event.bytes, {}});
        break;
      case TorchAction::segment_alloc:
        segments.erase(event.address);
        break;
      case TorchAction::segment_free:
        segments.try_emplace(event.address, TorchSegment{event.address, event.bytes, false, {}});
        break;
      case TorchAction::segment_map:
        out.pages.remove(event.address, end);
        break;
      case TorchAction::segment_unmap:
        out.pages.remove(event.address, end);
        out.pages.add({event.address, end, {}});
        break;
      default:
        break;
    }
  }
  for (const auto& [address, block] : blocks) out.blocks.push_back(block);
  for (const auto& [address, segment] : segments) out.segments.push_back(segment);
  return out;
}

} // namespace memtrace::snapshot
