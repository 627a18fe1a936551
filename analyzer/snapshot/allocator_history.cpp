// Purpose: the history of one allocator, of a device or of pinned memory, as events of a trace.
#include "analyzer/snapshot/allocator_history.h"

#include <algorithm>
#include <utility>

#include "preload/format/block_rules.h"

namespace memtrace::snapshot {
namespace {

using format::Kind;
using format::StackId;

constexpr std::uint32_t kOutOfMemory = 2; // cudaErrorMemoryAllocation

} // namespace

AllocatorHistory::AllocatorHistory(const SnapshotAllocator& from, std::size_t memory, std::uint64_t max_split,
                                   StackTable& stacks, TakeRecord take)
    : from_(from),
      memory_(static_cast<std::uint16_t>(memory << format::kMemoryShift)),
      stacks_(stacks),
      take_(std::move(take)),
      before_(before_history(from)),
      sizes_(max_split) {}

void AllocatorHistory::begin() {
  for (const TorchSegment& segment : before_.segments)
    segment_born(kind(), segment.address, segment.bytes, stacks_.stack(segment.frames));
  for (const auto& [from, range] : before_.pages.all()) pages_mapped(from, range.to, {});
  for (const TorchBlock& block : before_.blocks)
    block_born(block.address,
               block.bytes != 0 ? block.bytes
               : pinned()       ? block.requested
                                : rounded_request(block.requested),
               stacks_.stack(block.frames));
  report_reserved();
}

std::uint64_t AllocatorHistory::next_time() const {
  time_ = std::max(time_, from_.events[next_].time_us);
  return time_;
}

// The totals follow the block for which a segment was made: they are about the moment after the allocation.
void AllocatorHistory::write_next() {
  const std::uint64_t exact = before_.sizes[next_];
  const TorchEvent& event = from_.events[next_++];
  const std::uint64_t end = format::end_of(event.address, event.bytes);
  if (event.action != TorchAction::alloc) report_reserved();
  switch (event.action) {
    case TorchAction::alloc:
      block_born(event.address,
                 exact != 0 ? exact
                 : pinned() ? event.bytes
                            : sizes_.of(event.address, event.bytes),
                 stacks_.stack(event.frames));
      report_reserved();
      break;
    case TorchAction::free_requested:
      block_died(event.address);
      break;
    case TorchAction::free_completed:
      if (!blocks_.contains(event.address)) sizes_.free_again(event.address);
      break;
    case TorchAction::segment_alloc:
      segment_born(kind(), event.address, event.bytes, stacks_.stack(event.frames));
      break;
    case TorchAction::segment_free:
      if (const auto at = segments_.find(event.address); at != segments_.end())
        segment_died(kind(), at->first, at->second);
      break;
    case TorchAction::segment_map:
      pages_mapped(event.address, end, stacks_.stack(event.frames));
      break;
    case TorchAction::segment_unmap:
      pages_unmapped(event.address, end);
      break;
    case TorchAction::oom:
      failed(event);
      break;
    case TorchAction::other:
      break;
  }
}

void AllocatorHistory::segment_born(Kind kind, std::uint64_t address, std::uint64_t bytes, StackId stack) {
  if (kind != Kind::device_vmm) {
    if (const auto at = segments_.find(address); at != segments_.end())
      segment_died(kind, at->first, at->second);
    segments_[address] = bytes;
    sizes_.segment(address, bytes);
  }
  reserved_ += bytes;
  reserved_due_ = true;
  write(format::BirthEvent{address, bytes, bytes, stack, {}, {}}, kind, 0);
}

void AllocatorHistory::segment_died(Kind kind, std::uint64_t address, std::uint64_t bytes) {
  if (kind != Kind::device_vmm) {
    segments_.erase(address);
    sizes_.segment_gone(address);
  }
  reserved_ -= bytes;
  reserved_due_ = true;
  write(format::DeathEvent{address, bytes, {}, {}}, kind, 0);
}

void AllocatorHistory::pages_mapped(std::uint64_t from, std::uint64_t to, StackId stack) {
  if (from >= to) return;
  pages_unmapped(from, to); // nothing, unless the history has gaps
  pages_.add({from, to, stack});
  segment_born(Kind::device_vmm, from, to - from, stack);
}

// A part of a range dies as the whole range, and the rest of it is born again.
void AllocatorHistory::pages_unmapped(std::uint64_t from, std::uint64_t to) {
  pages_.remove(
      from, to, [&](const PageRange& gone) { segment_died(Kind::device_vmm, gone.from, gone.to - gone.from); },
      [&](const PageRange& left) {
        segment_born(Kind::device_vmm, left.from, left.to - left.from, left.stack);
      });
}

void AllocatorHistory::block_born(std::uint64_t address, std::uint64_t bytes, StackId stack) {
  block_died(address); // nothing, unless the history has gaps
  blocks_[address] = bytes;
  sizes_.used(address, bytes);
  allocated_ += bytes;
  if (pinned())
    reserved_due_ = true; // of all that is reserved, the allocated part changed
  else
    write(format::BirthEvent{address, 0, bytes, stack, {}, {}}, Kind::none, format::kTensor);
}

void AllocatorHistory::block_died(std::uint64_t address) {
  const auto at = blocks_.find(address);
  if (at == blocks_.end()) return;
  allocated_ -= at->second;
  blocks_.erase(at);
  if (pinned())
    reserved_due_ = true;
  else
    write(format::DeathEvent{address, 0, {}, {}}, Kind::none, format::kTensor);
}

void AllocatorHistory::failed(const TorchEvent& event) {
  write(format::FailureEvent{event.bytes, kOutOfMemory, 0, stacks_.stack(event.frames), 0, reserved_,
                             event.address, format::kNotSaid},
        Kind::none, format::kTensor);
}

void AllocatorHistory::report_reserved() {
  if (!reserved_due_) return;
  reserved_due_ = false;
  write(format::ReservedEvent{allocated_, reserved_}, Kind::none, 0);
}

} // namespace memtrace::snapshot
