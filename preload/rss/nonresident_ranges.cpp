// Purpose: pages that are mapped but not resident, and how much of a block they are.
// Runs: on the background thread.
#include "preload/rss/nonresident_ranges.h"

namespace memtrace::record {

void Holes::add(std::uint64_t start, std::uint64_t end, bool heap) {
  if (start >= end) return;
  if (used_ != 0 && holes_[used_ - 1].end == (start | (heap ? 1u : 0u))) {
    holes_[used_ - 1].end += end - start;
    return;
  }
  if (full()) return;
  holes_[used_++] = {start, end | (heap ? 1u : 0u)};
}

Holes::Overlap Holes::within(std::uint64_t start, std::uint64_t end) const {
  Overlap out;
  if (used_ == 0 || end <= holes_[0].start || start >= end_of(holes_[used_ - 1])) return out;
  std::size_t low = 0, high = used_; // the first that ends above `start`
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (end_of(holes_[middle]) <= start) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  for (std::size_t i = low; i < used_ && holes_[i].start < end; ++i) {
    const std::uint64_t from = holes_[i].start > start ? holes_[i].start : start;
    const std::uint64_t to = end_of(holes_[i]) < end ? end_of(holes_[i]) : end;
    out.all += to - from;
    if (holes_[i].end & 1) out.heap += to - from;
  }
  return out;
}

} // namespace memtrace::record
