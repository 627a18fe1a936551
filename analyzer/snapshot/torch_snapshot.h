// Purpose: what PyTorch's torch.cuda.memory._dump_snapshot() wrote: the state of its caching allocators, and
// the history of their events.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/snapshot/pickle_tree.h"

namespace memtrace::snapshot {

enum class TorchAction : std::uint8_t {
  alloc,
  free_requested, // from now on, the bytes are not allocated
  free_completed, // from now on, the allocator can use them again: all streams are done with them
  segment_alloc,  // cudaMalloc
  segment_free,
  segment_map, // pages of an expandable segment
  segment_unmap,
  oom,
  other, // "snapshot", "workspace_snapshot", and those of newer versions
};

struct TorchEvent {
  std::uint64_t address = 0; // oom: the free bytes of the device
  std::uint64_t bytes = 0;   // alloc, free: as the program asked
  std::uint64_t time_us = 0; // since 1970
  PickleValue frames;
  TorchAction action = TorchAction::other;
};

// A block that is allocated when the snapshot is taken.
struct TorchBlock {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;     // rounded, as it counts in memory_allocated()
  std::uint64_t requested = 0; // as the program asked
  PickleValue frames;
};

struct TorchSegment {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool expandable = false; // its pages are mapped one by one
  PickleValue frames;
};

struct SnapshotAllocator {
  std::vector<TorchEvent> events;     // in the order of the file; empty: the history was not recorded
  std::vector<TorchSegment> segments; // at the snapshot
  std::vector<TorchBlock> blocks;     // at the snapshot
};

struct TorchAnnotation { // of record_function()
  std::string_view name;
  std::uint64_t time_us = 0;
  bool begins = false;
};

struct TorchSnapshot {
  std::vector<SnapshotAllocator> devices; // by their number
  SnapshotAllocator pinned; // of host memory; empty before PyTorch 2.15, or if it was not recorded
  std::vector<TorchAnnotation> annotations;
  std::uint64_t max_split = ~std::uint64_t{0}; // the allocator does not split free blocks from this size on
};

// Limits the values that are looked at. A file has at least a byte for each value, and only values that it
// refers to many times are looked at more often.
class VisitCount {
 public:
  VisitCount(const std::string& path, std::uint64_t most) : path_(path), most_(most) {}
  void add(std::uint64_t values); // throws trace::ReadError

 private:
  const std::string& path_;
  std::uint64_t most_;
  std::uint64_t visited_ = 0;
};

// Returns the value of a key, or None.
PickleValue value_of(const PickleTree& tree, PickleValue dict, std::string_view key);

// `path` is for messages. Throws trace::ReadError if the values are not those of a snapshot. Skips unknown
// keys. The result refers to the tree.
TorchSnapshot read_torch_snapshot(const PickleTree& tree, const std::string& path, VisitCount& visits);

} // namespace memtrace::snapshot
