// Purpose: finds the pages of an address range that are in memory.
// Runs: on the background thread.
#include "preload/kernel/page_residency.h"

#include <cstring>

#include "preload/format/file_headers.h"
#include "preload/os/files.h"
#include "preload/os/kept_file.h"
#include "preload/os/mappings.h"

namespace memtrace::record {
namespace {

using format::kPage;

constexpr std::size_t kRuns = 256;  // that one call may return
constexpr std::size_t kWords = 512; // pages in one read of pagemap
constexpr std::uint64_t kPresentBit = std::uint64_t{1} << 63;
constexpr std::uint64_t kFileBit = std::uint64_t{1} << 61; // or shared memory
constexpr std::uint64_t kExclusiveBit = std::uint64_t{1} << 56;

// From <linux/fs.h> of Linux 6.7, because the headers of the build may be older.
struct ScanArgument {
  std::uint64_t size;
  std::uint64_t flags;
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t walk_end;
  std::uint64_t regions;
  std::uint64_t regions_length;
  std::uint64_t max_pages;
  std::uint64_t inverted;
  std::uint64_t mask;
  std::uint64_t any_of;
  std::uint64_t returned;
};
static_assert(sizeof(ScanArgument) == 96);
struct Region {
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t categories;
};
constexpr unsigned long kScan = 0xC0606610; // _IOWR('f', 16, ScanArgument)
constexpr std::uint64_t kOfFile = 1 << 2;
constexpr std::uint64_t kPresent = 1 << 3;
constexpr std::uint64_t kZeros = 1 << 5;

constexpr std::size_t kBytes = 4096;                           // pages in one call of mincore
constexpr std::uint64_t kMostScanned = std::uint64_t{1} << 18; // present pages in one call: 3 ms
constexpr std::uint64_t kFewScanned = 1024;                    // present pages in one call after a hole

union {
  Region regions[kRuns];
  std::uint64_t words[kWords];
  std::uint8_t bytes[kBytes];
} constinit answer = {};
constinit PageRun runs[kRuns] = {};
constinit bool scan_asked = false;
constinit bool scan_refused = false;

constinit os::KeptFile pagemap{};

std::uint64_t eight_at(std::size_t i) {
  std::uint64_t eight;
  std::memcpy(&eight, answer.bytes + i, sizeof eight);
  return eight;
}

// Returns how many bytes from `i` on have the value of byte `i`.
std::size_t alike(std::size_t i, std::size_t end) {
  const std::uint8_t first = answer.bytes[i];
  const std::uint64_t all = first * 0x0101010101010101u;
  std::size_t at = i + 1;
  while (at < end) {
    if (at % 8 == 0 && at + 8 <= end && eight_at(at) == all) {
      at += 8;
    } else if (answer.bytes[at] == first) {
      ++at;
    } else {
      break;
    }
  }
  return at - i;
}

} // namespace

Pages::Pages(bool scan) : fd_(pagemap.open_kernel("/proc/self/pagemap")), scans_(scan && !scan_refused) {
  if (fd_ < 0 || !scans_ || scan_asked) return;
  std::uint64_t end = 0;
  if (ask_for_regions(1, 1, kPresent, &end) < 0) refused(); // an empty range
  scan_asked = true;
}

Pages::~Pages() {
  if (fd_ >= 0) pagemap.end_use(fd_);
}

void Pages::begin(std::uint64_t start, std::uint64_t end, Of of, const Turn* turn) {
  at_ = start;
  end_ = end;
  of_ = of;
  turn_ = turn;
  was_hole_ = false;
  run_ = runs_ = 0;
}

// Returns false if there is no room for another run.
bool Pages::add(const PageRun& run) {
  PageRun* const last = runs_ != 0 ? &runs[runs_ - 1] : nullptr;
  if (last != nullptr && last->end == run.start && last->of_file == run.of_file && last->shared == run.shared) {
    last->end = run.end;
    return true;
  }
  if (runs_ == kRuns) return false;
  runs[runs_++] = run;
  return true;
}

bool Pages::ask() {
  const std::uint64_t left = (end_ - at_) / kPage;
  const std::size_t count = left < kBytes ? left : kBytes;
  if (os::pages_in_memory(at_, count * kPage, answer.bytes) < 0) return false;
  for (std::size_t i = 0; i < count;) {
    const std::size_t same = alike(i, count);
    if (answer.bytes[i] != 0 && !add({at_, at_ + same * kPage, false, false}))
      return true; // the next call does the rest
    at_ += same * kPage;
    i += same;
  }
  return true;
}

// Returns the number of regions between at_ and end_, or a negative errno: at most `regions`, with at most
// `pages` pages in all. `*end` is where the kernel stopped.
long Pages::ask_for_regions(std::uint64_t regions, std::uint64_t pages, std::uint64_t returned,
                            std::uint64_t* end) {
  ScanArgument argument{};
  argument.size = sizeof argument;
  argument.start = at_;
  argument.end = end_;
  argument.regions = reinterpret_cast<std::uint64_t>(answer.regions);
  argument.regions_length = regions;
  argument.max_pages = pages;
  argument.mask = kPresent;
  argument.returned = returned;
  const long got = os::control(fd_, kScan, &argument);
  *end = argument.walk_end > at_ ? argument.walk_end : end_;
  return got;
}

// Moves to the next present page. Returns false if the kernel does not tell where that is.
bool Pages::skip_hole() {
  std::uint64_t end = 0;
  const long got = ask_for_regions(1, 1, kPresent, &end);
  if (got < 0) return false;
  at_ = got == 0 ? end : answer.regions[0].start;
  return true;
}

bool Pages::scan(std::uint64_t most) {
  std::uint64_t returned = kPresent, end = 0;
  if (of_ == Of::written) returned |= kZeros;
  if (of_ == Of::copied_file) returned |= kOfFile;
  const long got = ask_for_regions(kRuns, most, returned, &end);
  if (got < 0) return false;
  for (long i = 0; i < got; ++i) {
    const Region& region = answer.regions[i];
    if ((region.categories & kZeros) != 0) {
      zeros_ += region.end - region.start;
    } else {
      runs[runs_++] = {region.start, region.end, of_ == Of::file || (region.categories & kOfFile) != 0, false};
    }
  }
  at_ = end;
  return true;
}

bool Pages::read() {
  const std::uint64_t left = (end_ - at_) / kPage;
  const std::size_t wanted = (left < kWords ? left : kWords) * sizeof answer.words[0];
  const long got = os::read_at(fd_, at_ / kPage * sizeof answer.words[0], answer.words, wanted);
  if (got <= 0) return false;
  const std::size_t count = static_cast<std::size_t>(got) / sizeof answer.words[0];
  for (std::size_t i = 0; i < count; ++i, at_ += kPage) {
    const std::uint64_t word = answer.words[i];
    const bool of_file = (word & kFileBit) != 0, shared = of_ == Of::forked && (word & kExclusiveBit) == 0;
    const bool present = (word & kPresentBit) != 0 && !(of_ == Of::forked && of_file);
    if (present && !add({at_, at_ + kPage, of_file, shared})) break;
  }
  return true;
}

void Pages::refused() {
  scan_refused = true; // an older kernel
  scans_ = false;
}

bool Pages::fill() {
  run_ = runs_ = 0;
  const bool after_hole = was_hole_;
  was_hole_ = false;
  const bool forked = of_ == Of::forked;
  const bool by_mincore = of_ == Of::anonymous || of_ == Of::written;
  if (scans_ && !forked && (after_hole || of_ != Of::anonymous)) {
    const bool all = of_ != Of::anonymous;
    if (scan(all ? kMostScanned : kFewScanned)) return true;
    refused();
  }
  if (scans_ && forked && after_hole) {
    if (!skip_hole()) refused();
    if (at_ >= end_) return true;
  }
  if (!(by_mincore ? ask() : read())) return false;
  was_hole_ = runs_ == 0;
  return true;
}

bool Pages::next(PageRun* out) {
  while (run_ == runs_) {
    if (at_ >= end_ || (turn_ != nullptr && turn_->is_over())) return false;
    if (fd_ < 0 || !fill()) at_ = end_; // the mapping is gone
  }
  *out = runs[run_++];
  return true;
}

} // namespace memtrace::record
