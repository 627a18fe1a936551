// Room: record. The background thread.
// Job: which pages of a range of addresses are in memory.
#include "record/pages.h"

#include <cstring>

#include "format/header.h"
#include "record/os.h"

namespace memtrace::record {
namespace {

using format::kPage;

constexpr std::size_t kRuns = 256;  // that one call may give
constexpr std::size_t kWords = 512; // pages that one read of pagemap tells of
constexpr std::uint64_t kPresentBit = std::uint64_t{1} << 63;
constexpr std::uint64_t kFileBit = std::uint64_t{1} << 61; // or shared memory
constexpr std::uint64_t kExclusiveBit = std::uint64_t{1} << 56;

// <linux/fs.h> of Linux 6.7; the headers we are built with may be older.
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

constexpr std::size_t kBytes = 4096; // pages that one call of mincore tells of

union {
  Region regions[kRuns];
  std::uint64_t words[kWords];
  std::uint8_t bytes[kBytes];
} constinit answer = {};
constinit PageRun runs[kRuns] = {};
constinit bool scan_refused = false;

std::uint64_t eight_at(std::size_t i) {
  std::uint64_t eight;
  std::memcpy(&eight, answer.bytes + i, sizeof eight);
  return eight;
}

// How many of the bytes from `i` on are as this one.
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

Pages::Pages(bool scan) : fd_(os::open_kernel("/proc/self/pagemap")), scans_(scan && !scan_refused) {}

Pages::~Pages() {
  if (fd_ >= 0) os::close(fd_);
}

void Pages::begin(std::uint64_t start, std::uint64_t end, Of of) {
  at_ = start;
  end_ = end;
  of_ = of;
  run_ = runs_ = 0;
}

// False: no room for one more.
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
      return true; // the rest by the next call
    at_ += same * kPage;
    i += same;
  }
  return true;
}

bool Pages::scan() {
  ScanArgument argument{};
  argument.size = sizeof argument;
  argument.start = at_;
  argument.end = end_;
  argument.regions = reinterpret_cast<std::uint64_t>(answer.regions);
  argument.regions_length = kRuns;
  argument.mask = kPresent;
  argument.returned = kPresent;
  if (of_ == Of::written) argument.returned |= kZeros;
  if (of_ == Of::copied_file) argument.returned |= kOfFile;
  const long got = os::control(fd_, kScan, &argument);
  if (got < 0) return false;
  for (long i = 0; i < got; ++i) {
    const Region& region = answer.regions[i];
    if ((region.categories & kZeros) != 0) {
      zeros_ += region.end - region.start;
    } else {
      runs[runs_++] = {region.start, region.end, of_ == Of::file || (region.categories & kOfFile) != 0, false};
    }
  }
  at_ = argument.walk_end > at_ ? argument.walk_end : end_;
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

bool Pages::fill() {
  run_ = runs_ = 0;
  if (of_ == Of::anonymous) return ask();
  if (of_ == Of::forked) return read();
  if (scans_ && scan()) return true;
  if (scans_) scan_refused = true; // an older kernel
  scans_ = false;
  return of_ == Of::written ? ask() : read();
}

bool Pages::next(PageRun* out) {
  while (run_ == runs_)
    if (at_ >= end_ || fd_ < 0 || !fill()) return false;
  *out = runs[run_++];
  return true;
}

} // namespace memtrace::record
