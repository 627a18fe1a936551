// Purpose: the rows of STEM.coarse, in the two halves of its mapping; buckets (step ranges) double as the run
// grows.
// Runs: in the drain and, when its ring is full, on the program's thread.
#pragma once

#include "preload/format/rollup_layout.h"
#include "preload/rollup/dense_table.h"

namespace memtrace::rollup {

class FileRows {
 public:
  // The largest number of buckets, of either table.
  static constexpr std::uint64_t kBuckets = 128;

  // Uses `memory` from now on: the whole file, zeroed, at least kSmallest bytes.
  void attach(void* memory, std::size_t bytes, std::uint64_t trace_id, format::Stamp from);
  bool attached() const { return header_ != nullptr; }
  static constexpr std::size_t kSmallest = format::kPage + 16 * 1024;

  // Both take a row of one step; `bucket` is the number of the step, or kNoStepBucket. If the table is full,
  // adjacent buckets become one. A site that still does not fit is counted without its stack.
  void add(format::PhaseRow&& row);
  void add(const format::SiteRow& row);

  format::RollupHeader& header() { return *header_; }
  const format::RollupHalf& half() const;

 private:
  void saw(std::uint64_t step, bool whole);
  std::uint64_t buckets(std::uint64_t width) const;
  void widen(std::uint64_t phase_width, std::uint64_t site_width);
  bool fold_phases();
  bool fold_sites();
  format::RollupHalf* half_at(std::uint32_t i) const;

  format::RollupHeader* header_ = nullptr;
  std::uint32_t phases_ = 0; // rows in use
  std::uint32_t sites_ = 0;
  std::uint64_t lowest_ = 0; // lowest step of a row, also of a site's bucket
};

} // namespace memtrace::rollup
