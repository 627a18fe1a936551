// Purpose: finds the pages of an address range that are in memory.
// Runs: on the background thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/kernel/look_budget.h"

namespace memtrace::record {

struct PageRun { // pages that are present
  std::uint64_t start;
  std::uint64_t end;
  bool of_file; // set for `file` and `copied_file`: not private copies
  bool shared;  // set for `forked`: another process has the pages too
};

// Queries the kernel's page tables. For memory without a file it uses mincore, which takes 2 ns a page. For
// files, mincore reports the page cache, so PAGEMAP_SCAN (Linux 6.7, 3 to 13 ns) is used, else
// pagemap, which reads each page's entry (20 ns). Uses static buffers, so only one object may exist at a time.
//
// mincore and pagemap take as long for absent pages: 6.5 s of CPU for a reservation of 64 TiB. If an answer has
// no page, PAGEMAP_SCAN finds the next one. It skips ranges without a page table: 1 ms for 64 TiB.
class Pages {
 public:
  // `written`: anonymous memory without pages of zeros, which were read and never written to. RSS does not
  // contain these pages, and mincore does not tell them apart. Before Linux 6.7 the same as `anonymous`.
  // `forked`: anonymous memory; marks the pages that another process has too, which only a fork causes. `file`:
  // a file mapping without private copies. `copied_file`: a file mapping; marks the pages that are not copies.
  // The kernel looks up each page for this: 4.3 ms for libraries of 89 MiB, or 1.2 ms if only the mappings that
  // are not code are queried in this way.
  enum class Of : std::uint8_t { anonymous, written, file, copied_file, forked };
  explicit Pages(bool scan = true);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  bool known() const { return fd_ >= 0; }
  bool scans() const { return scans_; }
  // `start` and `end` are page-aligned. If `turn` ends, next() returns false before the end of the range.
  // done() tells whether the range is complete, and at() where to continue.
  void begin(std::uint64_t start, std::uint64_t end, Of of, const Turn* turn = nullptr);
  bool next(PageRun* out); // in order of address
  bool done() const { return run_ == runs_ && at_ >= end_; }
  std::uint64_t at() const { return at_; }
  std::uint64_t zeros() const { return zeros_; } // bytes of pages of zeros that `written` left out so far

 private:
  bool fill();
  bool ask();
  bool scan(std::uint64_t most);
  bool read();
  bool add(const PageRun& run);
  long ask_for_regions(std::uint64_t regions, std::uint64_t pages, std::uint64_t returned, std::uint64_t* end);
  bool skip_hole();
  void refused();

  long fd_;
  bool scans_;
  const Turn* turn_ = nullptr;
  bool was_hole_ = false; // the last answer had no page
  Of of_ = Of::anonymous;
  std::uint64_t at_ = 0; // queried up to here
  std::uint64_t end_ = 0;
  std::size_t run_ = 0;
  std::size_t runs_ = 0;
  std::uint64_t zeros_ = 0;
};

} // namespace memtrace::record
