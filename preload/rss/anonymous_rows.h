// Purpose: the resident parts of the anonymous mappings, by the ranges that memtrace knows: blocks, arenas, its
// own.
// Runs: on the background thread.
#pragma once

#include "preload/format/file_headers.h"
#include "preload/kernel/look_budget.h"
#include "preload/kernel/page_residency.h"
#include "preload/kernel/proc_maps.h"
#include "preload/rss/heap_and_stack_bounds.h"
#include "preload/rss/ledger_handshake.h"
#include "preload/rss/ledger_rows.h"

namespace memtrace::record {

class AnonymousRows {
 public:
  // Begins a walk over all mappings. `written_only`: pages that were read and never written to do not count.
  void begin_walk(bool written_only);
  // Adds the resident part of a mapping. Returns false if the turn is over; then the caller gives this mapping
  // again.
  bool anonymous_mapping(const Mapping& one, Pages& pages, const Turn& turn, Residents* out);
  void closed_mapping(const Mapping& one) { guard_ = {one.start, one.end}; }
  void end_of_mappings() { hole(at_, ~format::kPage + 1); }
  std::uint64_t anonymous() const { return anonymous_; } // bytes seen so far
  // Adds the live blocks, without their pages that are not resident.
  void finish(const AllocatorAnswer& answer, Residents* out);

 private:
  enum class Stage : std::uint8_t { none, pages, of_both }; // of the present mapping

  template <class Take>
  void each_known(Take take);
  void part(const AddressBounds& range, format::LedgerRow row, std::uint64_t from, std::uint64_t to);
  void hole(std::uint64_t start, std::uint64_t end);
  void begin_mapping(const Mapping& one);
  bool look_at_pages(const Mapping& one, Pages& pages, const Turn& turn);
  bool too_large(const Mapping& one, const Pages& pages);
  bool of_both(const Mapping& one, Pages& pages, const Turn& turn);
  void own_copy(std::uint64_t start, std::uint64_t end, const AddressBounds& told);
  void flush();
  void flush_copies();
  void small_blocks();
  void kept(const AllocatorAnswer& answer);

  Residents* out_ = nullptr;
  AddressBounds guard_; // the last mapping that cannot be read
  Stage stage_ = Stage::none;
  bool written_only_ = false;
  bool ours_ = false;
  AddressBounds library_; // a range in the mapping, like the next two
  AddressBounds stack_;
  AddressBounds heap_;
  std::uint64_t both_ = 0; // pages below this address were checked for sharing
  std::uint64_t at_ = 0;   // pages below this address were checked for residency
  std::uint64_t anonymous_ = 0;
  std::uint64_t absent_[format::kLedgerRows] = {};
  std::uint64_t allocator_pages_ = 0; // of an allocator that calls mmap itself
  std::uint64_t heap_holes_ = 0;      // of glibc's pages, not resident
  std::uint64_t heap_holes_live_ = 0; // of these, in live blocks
};

// Divides the row of Python's arenas into used and free. Only some arenas are measured; the others are assumed
// to be like them.
void split_arena_rows(Residents& out);

void close_anonymous_rows();
// Resets the state in a forked child.
void forget_anonymous_rows();

} // namespace memtrace::record
