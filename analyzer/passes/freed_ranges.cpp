// Purpose: heap memory that was freed and not used again until an instant, and which blocks came later.
#include "analyzer/passes/freed_ranges.h"

#include <array>
#include <bit>
#include <iterator>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace memtrace::replay {
namespace {

constexpr std::uint64_t kHeader = 16; // at most: of the allocator, between two blocks
using format::kPage;

// glibc gives such a block pages of its own, behind a header of 16 bytes.
bool is_mapped_alone(const Block& block) {
  return block.address % kPage == kHeader && (block.given + kHeader) % kPage == 0;
}

bool is_of_heap(const Block& block) {
  return block.memory == 0 && block.kind == format::Kind::heap && !block.sampled && block.given != 0;
}

// The free addresses, without gaps between neighbours, and how many bytes of them are in ranges of each length.
class Runs {
 public:
  void clear() { *this = {}; }
  void add(std::uint64_t start, std::uint64_t end) {
    auto next = runs_.lower_bound(start);
    if (next != runs_.begin() && std::prev(next)->second + kHeader >= start) {
      start = std::prev(next)->first;
      next = drop(std::prev(next));
    }
    if (next != runs_.end() && end + kHeader >= next->first) {
      end = next->second;
      drop(next);
    }
    hold(start, end);
  }
  void take(std::uint64_t start, std::uint64_t end) {
    auto at = runs_.upper_bound(start);
    if (at != runs_.begin() && std::prev(at)->second > start) --at;
    while (at != runs_.end() && at->first < end) {
      const auto [from, to] = *at;
      at = drop(at);
      if (from < start) hold(from, start);
      if (to > end) at = std::next(hold(end, to));
    }
  }
  // True if at least four fifths of the free bytes are in ranges that are shorter than `size`.
  bool are_too_short(std::uint64_t size) const {
    const std::uint64_t fitting = std::accumulate(by_length_.begin() + static_cast<std::ptrdiff_t>(index(size)),
                                                  by_length_.end(), std::uint64_t{0});
    return fitting <= bytes_ / 5;
  }
  const std::map<std::uint64_t, std::uint64_t>& all() const { return runs_; } // end by start

 private:
  using RunMap = std::map<std::uint64_t, std::uint64_t>;

  // Lengths that differ by at most 1/32 have one index.
  static std::size_t index(std::uint64_t length) {
    if (length < 32) return length;
    const auto shift = static_cast<unsigned>(std::bit_width(length)) - 6;
    return shift * 32 + (length >> shift);
  }
  RunMap::iterator hold(std::uint64_t start, std::uint64_t end) {
    bytes_ += end - start;
    by_length_[index(end - start)] += end - start;
    return runs_.insert_or_assign(start, end).first;
  }
  RunMap::iterator drop(RunMap::iterator run) {
    const std::uint64_t length = run->second - run->first;
    bytes_ -= length;
    by_length_[index(length)] -= length;
    return runs_.erase(run);
  }

  RunMap runs_;
  std::uint64_t bytes_ = 0;
  std::array<std::uint64_t, 2048> by_length_{};
};

class Freeing : public Observer {
 public:
  Freeing(format::Stamp half, format::Stamp until) : half_(half), until_(until) {}

  void cut(const trace::Event&) override {
    free_.clear();
    runs_.clear();
    threads_.clear();
    born_.reset();
  }
  void born(const Block& block) override {
    if (is_of_heap(block)) born_ = block;
  }
  void died(const Block& block, const trace::Event& event) override {
    if (event.stamp > until_ || !is_of_heap(block)) return;
    const auto thread = threads_.extract(block.address);
    if (is_mapped_alone(block)) return;
    take(block.address, block.address + block.given);
    free_[block.address] = {block.address + block.given, block.stack,
                            thread.empty() ? event.thread : thread.mapped()};
    runs_.add(block.address, block.address + block.given);
  }
  void after(const trace::Event& event, const PhasePosition&) override {
    if (born_ && event.stamp <= until_) place(*born_, event);
    born_.reset();
  }

  FreedRanges sum() && {
    for (const auto& [start, range] : free_) {
      out_.bytes += range.end - start;
      out_.stacks[range.stack] += range.end - start;
      if (!later_threads_.contains(range.thread)) out_.of_idle_threads += range.end - start;
    }
    for (const auto& [start, end] : runs_.all()) {
      const std::uint64_t first = (start + kPage - 1) / kPage, last = end / kPage;
      if (last > first) out_.whole_pages += (last - first) * kPage;
    }
    return std::move(out_);
  }

 private:
  struct FreeRange {
    std::uint64_t end;
    format::StackId stack;
    std::uint32_t thread;
  };

  void place(const Block& block, const trace::Event& event) {
    threads_[block.address] = event.thread;
    const bool too_short = event.stamp >= half_ && runs_.are_too_short(block.given);
    const bool reuses = take(block.address, block.address + block.given);
    if (event.stamp < half_) return;
    later_threads_.insert(event.thread);
    if (reuses) return;
    out_.later_bytes += block.given;
    if (is_mapped_alone(block)) out_.later_mapped += block.given;
    if (too_short) out_.later_unfitted += block.given;
  }

  // Removes the addresses from the free ranges. Returns true if some were free.
  bool take(std::uint64_t start, std::uint64_t end) {
    bool out = false;
    runs_.take(start, end);
    auto at = free_.upper_bound(start);
    if (at != free_.begin() && std::prev(at)->second.end > start) --at;
    while (at != free_.end() && at->first < end) {
      const std::uint64_t from = at->first;
      const FreeRange range = at->second;
      at = free_.erase(at);
      if (from < start) free_[from] = {start, range.stack, range.thread};
      if (range.end > end) at = std::next(free_.insert_or_assign(end, range).first);
      out = true;
    }
    return out;
  }

  format::Stamp half_, until_;
  std::optional<Block> born_; // by the present event
  std::map<std::uint64_t, FreeRange> free_;
  std::unordered_map<std::uint64_t, std::uint32_t> threads_; // that made each live block
  std::unordered_set<std::uint32_t> later_threads_;
  Runs runs_; // of free_
  FreedRanges out_;
};

} // namespace

FreedRanges freed_ranges(const trace::Trace& trace, format::Stamp half, format::Stamp until) {
  Replay replay(trace);
  Freeing freeing(half, until);
  replay.run(freeing);
  return std::move(freeing).sum();
}

} // namespace memtrace::replay
