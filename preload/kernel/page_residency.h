// Purpose: which pages of a range of addresses are in memory.
// Runs: on the background thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/kernel/look_budget.h"

namespace memtrace::record {

struct PageRun { // present
  std::uint64_t start;
  std::uint64_t end;
  bool of_file; // said of `file` and `copied_file`: not a private copy
  bool shared;  // said of those of a forked process: another has them as well
};

// Asks the kernel's page tables. Of memory without a file by mincore, which takes 2 ns a page; of files that
// says what is in the page cache, so of these by PAGEMAP_SCAN (Linux 6.7, 3 to 13 ns), else by reading pagemap,
// which looks at each page (20 ns). Keeps to static buffers: one at a time.
//
// mincore and pagemap take as long for a page that is not there: 6.5 s of CPU for a reservation of 64 TiB.
// Where an answer has no page, PAGEMAP_SCAN finds the next one: it skips what has no page table, 1 ms for 64
// TiB.
class Pages {
 public:
  // `written`: anonymous but for pages of zeros, which were read and never written to: RSS has them not, and
  // mincore tells no difference. Before Linux 6.7 as `anonymous`.
  // `forked`: anonymous, and it is told which are of another process as well, as only a fork brings about.
  // `file`: nobody writes to a private copy of it. `copied_file`: it is told which pages are copies, for which
  // the kernel looks up each: 4.3 ms for libraries of 89 MiB, 1.2 if only those are asked of it that are not
  // code.
  enum class Of : std::uint8_t { anonymous, written, file, copied_file, forked };
  explicit Pages(bool scan = true);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  bool known() const { return fd_ >= 0; }
  bool scans() const { return scans_; }
  // Whole pages. Where `turn` is over, next() returns false before it was at the end: done() says which, and
  // at() from where on to begin again.
  void begin(std::uint64_t start, std::uint64_t end, Of of, const Turn* turn = nullptr);
  bool next(PageRun* out); // in order of address
  bool done() const { return run_ == runs_ && at_ >= end_; }
  std::uint64_t at() const { return at_; }
  std::uint64_t zeros() const { return zeros_; } // bytes that `written` left out so far

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
  std::uint64_t at_ = 0; // asked up to here
  std::uint64_t end_ = 0;
  std::size_t run_ = 0;
  std::size_t runs_ = 0;
  std::uint64_t zeros_ = 0;
};

} // namespace memtrace::record
