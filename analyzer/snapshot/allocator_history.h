// Purpose: the history of one allocator, of a device or of pinned memory, as events of a trace.
#pragma once

#include <functional>
#include <set>

#include "analyzer/snapshot/before_history.h"
#include "analyzer/snapshot/block_sizes.h"
#include "analyzer/snapshot/stack_table.h"
#include "preload/format/event_fields.h"

namespace memtrace::snapshot {

// Takes a record without a stamp.
using TakeRecord = std::function<void(format::RingRecord)>;

class AllocatorHistory {
 public:
  // `memory`: 0 is the host, 1 is cuda:0.
  AllocatorHistory(const SnapshotAllocator& from, std::size_t memory, std::uint64_t max_split,
                   StackTable& stacks, TakeRecord take);

  // Writes what was there before the first event.
  void begin();
  bool done() const { return next_ == from_.events.size(); }
  // Returns the time of the next event. Times do not fall: the order of the file counts.
  std::uint64_t next_time() const;
  void write_next();
  // Writes what is due after the last event.
  void finish() { report_reserved(); }

  std::size_t blocks_before() const { return before_.blocks.size(); }
  std::size_t segments_before() const { return before_.segments.size() + before_.pages.all().size(); }

 private:
  template <class Event>
  void write(const Event& event, format::Kind kind, std::uint16_t flags) {
    format::RingRecord record{};
    record.put(event);
    record.kind = static_cast<std::uint8_t>(kind);
    record.flags = static_cast<std::uint16_t>(flags | memory_);
    take_(record);
  }
  void segment_born(format::Kind kind, std::uint64_t address, std::uint64_t bytes, format::StackId stack);
  void segment_died(format::Kind kind, std::uint64_t address, std::uint64_t bytes);
  void pages_mapped(std::uint64_t from, std::uint64_t to, format::StackId stack);
  void pages_unmapped(std::uint64_t from, std::uint64_t to);
  void block_born(std::uint64_t address, std::uint64_t bytes, format::StackId stack);
  void block_died(std::uint64_t address);
  void failed(const TorchEvent& event);
  void report_reserved();

  // The allocator of pinned memory gives whole segments, and its events have their sizes. As in a recorded
  // trace, the segments count, not the tensors in them.
  bool pinned() const { return memory_ == 0; }
  format::Kind kind() const { return pinned() ? format::Kind::pinned : format::Kind::device; }

  const SnapshotAllocator& from_;
  std::uint16_t memory_;
  StackTable& stacks_;
  TakeRecord take_;
  BeforeHistory before_;
  BlockSizes sizes_;
  std::size_t next_ = 0;
  mutable std::uint64_t time_ = 0;                  // the highest so far
  std::map<std::uint64_t, std::uint64_t> blocks_;   // allocated bytes by address
  std::map<std::uint64_t, std::uint64_t> segments_; // bytes by address; without pages
  PageRanges pages_;
  std::uint64_t allocated_ = 0;
  std::uint64_t reserved_ = 0;
  bool reserved_due_ = false; // the total changed, and no record has it yet
};

} // namespace memtrace::snapshot
