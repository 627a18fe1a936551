// Purpose: reads the records of some types from the runs of one thread, on two processors.
#include "analyzer/trace/told_records.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace memtrace::trace {
namespace {

constexpr std::size_t kAhead = 8;                // parts that are read or being read, at most
constexpr std::size_t kMostTold = 4096;          // records of a part that wait for the calling thread
constexpr std::uint64_t kLongestPart = 1 << 17;  // records; a longer part is not read ahead
constexpr std::uint64_t kShortestPart = 1 << 12; // records; shorter ones are joined

constexpr std::uint64_t kOften = 4096; // records between two reports of progress

using Part = std::span<const Run>;

bool is_told(const format::RingRecord& record, std::uint64_t types) {
  return record.type < 64 && (types >> record.type & 1) != 0;
}

std::uint64_t records_in(Part part) {
  std::uint64_t out = 0;
  for (const Run& run : part) out += run.records;
  return out;
}

// True if `run` can be read without the runs before it, all of which end at or before `end`.
bool begins_part(const Run& run, format::Source source, std::uint64_t end) {
  return run.segment != nullptr && (run.segment->header.flags & format::kContinues) == 0 &&
         run.source == source && run.first_sequence >= end;
}

std::vector<Part> parts_of(std::span<const Run> runs) {
  std::vector<Part> out;
  std::size_t begin = 0;
  std::uint64_t end = 0, records = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[i];
    if (i > 0 && run.source != runs[i - 1].source) end = 0;
    if (i > begin && records >= kShortestPart && begins_part(run, runs[i - 1].source, end)) {
      out.push_back(runs.subspan(begin, i - begin));
      begin = i;
      records = 0;
    }
    end = std::max(end, run.first_sequence + run.records);
    records += run.records;
  }
  if (begin < runs.size()) out.push_back(runs.subspan(begin));
  return out;
}

ToldCounts read_alone(std::span<const Run> runs, const ToldQuestion& question) {
  ToldCounts counts;
  std::uint64_t records = 0;
  Cursor cursor(runs);
  format::RingRecord record{};
  while (cursor.next(record)) {
    counts.last = std::max(counts.last, record.stamp);
    if (is_told(record, question.types)) question.take(record);
    if (++records % kOften == 0) question.advance(kOften);
  }
  question.advance(records % kOften);
  counts.missing = cursor.missing();
  return counts;
}

class ToldAhead {
 public:
  ToldAhead(std::vector<Part> parts, const ToldQuestion& question)
      : parts_(std::move(parts)), question_(question) {
    for (PartRead& read : ahead_) read.told.reserve(kMostTold);
  }
  ~ToldAhead() {
    if (!second_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      next_ = parts_.size();
      stopped_ = true;
    }
    changed_.notify_all();
    second_.join();
    files::Budget::of_command().joined(count_);
  }
  ToldAhead(const ToldAhead&) = delete;
  ToldAhead& operator=(const ToldAhead&) = delete;

  ToldCounts read() {
    count_ = files::Budget::of_command().second();
    try {
      second_ = std::thread([this] {
        files::Budget::count_in(count_);
        while (read_ahead(true)) {
        }
      });
    } catch (const std::system_error&) { // a limit on the number of threads: this one reads all
    }
    ToldCounts sum;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      sum.last = std::max(sum.last, take_part(i).last);
    }
    return sum;
  }

 private:
  struct PartRead {
    std::vector<format::RingRecord> told;
    ToldCounts counts;
    std::uint64_t records = 0; // of all types
    bool over = false;         // the part was read
    bool whole = false;        // `told` has all of it
  };

  // Gives the records of a part.
  ToldCounts take_part(std::size_t number) {
    PartRead& read = ahead_[number % kAhead];
    if (begin_to_give(number)) return read_alone(parts_[number], question_);
    for (;;) {
      {
        const std::lock_guard lock(mutex_);
        if (read.over) break;
      }
      if (read_ahead(false)) continue; // meanwhile, the other thread reads this part
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&read] { return read.over; });
      break;
    }
    if (!read.whole) return read_alone(parts_[number], question_);
    for (const format::RingRecord& record : read.told) question_.take(record);
    question_.advance(read.records);
    return read.counts;
  }

  // Returns true if no thread has begun to read the part. Then the caller reads it.
  bool begin_to_give(std::size_t number) {
    bool begins = false;
    {
      const std::lock_guard lock(mutex_);
      given_ = number;
      begins = next_ == number;
      if (begins) ++next_;
    }
    changed_.notify_all();
    return begins;
  }

  // Reads the next part that no thread has begun. Returns false if there is none that may be read now. `waits`:
  // until there is one, or all are begun.
  bool read_ahead(bool waits) {
    std::size_t number = 0;
    {
      std::unique_lock lock(mutex_);
      const auto free = [&] { return next_ >= parts_.size() || next_ < given_ + kAhead; };
      if (!free()) {
        if (!waits) return false;
        changed_.wait(lock, free);
      }
      if (next_ >= parts_.size() || stopped_) return false;
      number = next_++;
      ahead_[number % kAhead].over = false;
    }
    PartRead& read = ahead_[number % kAhead];
    read.whole = false;
    try {
      read.whole = read_into(read, parts_[number]);
    } catch (...) { // the calling thread reads the part again, and throws there
    }
    {
      const std::lock_guard lock(mutex_);
      read.over = true;
    }
    changed_.notify_all();
    return true;
  }

  // Returns false if the part is too long to wait for the calling thread.
  bool read_into(PartRead& read, Part part) const {
    read.told.clear();
    read.counts = {};
    read.records = 0;
    if (records_in(part) > kLongestPart) return false;
    Cursor cursor(part);
    format::RingRecord record{};
    while (cursor.next(record)) {
      ++read.records;
      read.counts.last = std::max(read.counts.last, record.stamp);
      if (!is_told(record, question_.types)) continue;
      if (read.told.size() == kMostTold) return false;
      read.told.push_back(record);
    }
    return true;
  }

  std::vector<Part> parts_;
  const ToldQuestion& question_;
  std::array<PartRead, kAhead> ahead_; // of the parts from `given_` on, by their number modulo kAhead
  std::mutex mutex_;                   // guards what follows, and `over` in `ahead_`
  std::condition_variable changed_;
  std::size_t next_ = 0;  // the first part that no thread has begun
  std::size_t given_ = 0; // the part that the calling thread gives
  bool stopped_ = false;
  files::Budget::ThreadCount count_;
  std::thread second_;
};

} // namespace

ToldCounts read_told(std::span<const Run> runs, const ToldQuestion& question, EventsAhead::Threads threads) {
  std::vector<Part> parts;
  if (threads == EventsAhead::Threads::two) parts = parts_of(runs);
  return parts.size() < 3 ? read_alone(runs, question) : ToldAhead(std::move(parts), question).read();
}

} // namespace memtrace::trace
