// Purpose: the mapped pages of a device's expandable segments, as ranges of addresses.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

#include "preload/format/records.h"

namespace memtrace::snapshot {

struct PageRange {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  format::StackId stack{};
};

class PageRanges {
 public:
  void add(const PageRange& range) {
    if (range.from < range.to) ranges_[range.from] = range;
  }

  // Takes [from, to) away. Calls `gone(range)` for each range that has a part of it, and then `left(range)` for
  // the parts of that range that stay.
  template <class Gone, class Left>
  void remove(std::uint64_t from, std::uint64_t to, Gone gone, Left left) {
    auto at = ranges_.upper_bound(from);
    if (at != ranges_.begin() && std::prev(at)->second.to > from) --at;
    while (at != ranges_.end() && at->first < to) {
      const PageRange range = at->second;
      at = ranges_.erase(at);
      gone(range);
      for (const PageRange& part :
           {PageRange{range.from, from, range.stack}, PageRange{to, range.to, range.stack}}) {
        if (part.from >= part.to) continue;
        ranges_[part.from] = part;
        left(part);
      }
    }
  }
  void remove(std::uint64_t from, std::uint64_t to) {
    remove(
        from, to, [](const PageRange&) {}, [](const PageRange&) {});
  }

  const std::map<std::uint64_t, PageRange>& all() const { return ranges_; } // by their first address

 private:
  std::map<std::uint64_t, PageRange> ranges_;
};

} // namespace memtrace::snapshot
