// Purpose: puts the births and deaths inside the windows into the order of the run. A block is known only when
// it dies, so its birth comes late.
#include "analyzer/timeline/row_order.h"

#include <algorithm>
#include <unordered_map>

#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::replay {
namespace {

// bytes: a rise and fall of small blocks between two rows that is lower than this gets no row of its own
constexpr std::int64_t kSmallRise = 1 << 14;

} // namespace

const RowWindow* RowOrder::window_of(trace::Ordinal at) const {
  const auto next =
      std::upper_bound(windows_.begin(), windows_.end(), at,
                       [](trace::Ordinal wanted, const RowWindow& one) { return wanted < one.from; });
  if (next == windows_.begin() || at > std::prev(next)->to) return nullptr;
  return &*std::prev(next);
}

bool RowOrder::is_inside(trace::Ordinal at) const {
  return window_of(at) != nullptr;
}

void RowOrder::add(std::uint32_t klass, const EventTime& birth, const EventTime& death) {
  if (birth.at >= death.at) return; // it came and went within one event
  const RowWindow* const of_birth = window_of(birth.at);
  const RowWindow* const of_death = window_of(death.at);
  const std::uint32_t block = blocks_++;
  if (of_birth != nullptr) changes_.push_back({birth.at, birth.stamp, klass, block, false, false});
  if (of_death != nullptr)
    changes_.push_back({death.at, death.stamp, klass, block, true, of_birth != of_death});
}

void RowOrder::small(const EventTime& after, std::int64_t bytes) {
  if (!fresh_ && small_.back().bytes == bytes) return;
  fresh_ = false;
  small_.push_back({after.at, after.stamp, bytes});
}

void RowOrder::before_window(trace::Ordinal at, std::int64_t bytes) {
  const RowWindow* const next = window_of(at + 1);
  if (next == nullptr || next->from != at + 1) return;
  begin_[static_cast<std::size_t>(next - windows_.data())] = bytes;
  fresh_ = true;
}

// Writes the rows of one window after the other.
class RowOrder::Writer {
 public:
  explicit Writer(std::vector<BlockRow>& rows) : rows_(rows) {}

  // Begins a window. `small`: the bytes before its first event.
  void begin(std::int64_t small) {
    given_ = pending_ = top_.bytes = small;
    stamp_ = 0;
    apart_ = false;
    born_.clear();
  }
  // Takes the small bytes after an event.
  void take(const SmallPoint& point) {
    pending_ = point.bytes;
    if (point.bytes > top_.bytes) top_ = point;
  }
  format::Stamp stamp() const { return stamp_; } // of the last row; 0 if there is none
  // Gives the next row a later time than the last one. A page shows an instant with all rows of its time.
  void part() { apart_ = true; }
  // Adds a row for the small bytes of now.
  void show(const SmallPoint& point) { put(0, 0, point.stamp, point.bytes); }
  // Adds a row for a rise of the small bytes that is over by now.
  void flush() {
    if (wrapping_sub(top_.bytes, std::max(given_, pending_)) >= kSmallRise) put(0, 0, top_.stamp, top_.bytes);
  }
  void add(const BlockChange& change) {
    flush();
    std::uint32_t ref = 0;
    if (change.older) {
      ref = kOlder;
    } else if (change.death) {
      ref = static_cast<std::uint32_t>(rows_.size() - born_.at(change.block));
      born_.erase(change.block);
    } else {
      born_[change.block] = rows_.size();
    }
    put(change.klass, ref, change.stamp, pending_);
  }
  // Ends a window.
  void end(format::Stamp stamp) {
    flush();
    if (pending_ != given_) put(0, 0, stamp, pending_);
  }

 private:
  void put(std::uint32_t klass, std::uint32_t ref, format::Stamp stamp, std::int64_t small) {
    stamp_ = std::max(stamp_ + (apart_ ? 1 : 0), stamp);
    apart_ = false;
    rows_.push_back({stamp_, klass, ref, wrapping_sub(small, given_)});
    given_ = small;
    top_ = {0, stamp_, pending_};
  }

  std::vector<BlockRow>& rows_;
  std::unordered_map<std::uint32_t, std::size_t> born_; // by block: its row
  std::int64_t given_ = 0;                              // small bytes after the last row
  std::int64_t pending_ = 0;                            // small bytes now
  SmallPoint top_{};                                    // the highest since the last row
  format::Stamp stamp_ = 0;
  bool apart_ = false;
};

void RowOrder::take(BlockRows& out) {
  // At one event, deaths come first: its births are of what replaced the dead.
  std::stable_sort(changes_.begin(), changes_.end(), [](const BlockChange& a, const BlockChange& b) {
    return a.at != b.at ? a.at < b.at : a.death > b.death;
  });
  Writer writer(out.rows);
  std::size_t change = 0, point = 0;
  auto exact = exact_.begin();
  // Ends the rows of the exact events before event `end`.
  const auto pass_exact = [&](const RowWindow& window, trace::Ordinal end) {
    for (; exact != exact_.end() && *exact < end; ++exact) {
      if (*exact < window.from || writer.stamp() == 0) continue;
      out.exact[*exact] = writer.stamp();
      writer.part();
    }
  };
  for (std::size_t number = 0; number < windows_.size(); ++number) {
    const RowWindow& window = windows_[number];
    const std::size_t first = out.rows.size();
    writer.begin(begin_[number]);
    format::Stamp last = 0;
    while (true) {
      const bool more = change < changes_.size() && changes_[change].at <= window.to;
      const bool points = point < small_.size() && small_[point].at <= window.to;
      if (!more && !points) break;
      const bool is_point = points && (!more || small_[point].at <= changes_[change].at);
      const trace::Ordinal at = is_point ? small_[point].at : changes_[change].at;
      pass_exact(window, at);
      if (is_point) {
        last = small_[point].stamp;
        writer.take(small_[point]);
        if (std::binary_search(exact, exact_.end(), at)) writer.show(small_[point]);
        ++point;
      } else {
        last = changes_[change].stamp;
        writer.add(changes_[change++]);
      }
    }
    pass_exact(window, window.to + 1);
    writer.end(last);
    out.spans.push_back({window, first, out.rows.size() - first, 0});
  }
}

} // namespace memtrace::replay
