// Purpose: the largest possible error of the levels whose records were dropped.
// Runs: in the drain and, when its ring is full, on the program's thread.
#pragma once

#include "preload/format/rollup_layout.h"

namespace memtrace::rollup {

// True if a birth or a death carries flows of small blocks.
inline bool carries_any(const format::RingRecord& record) {
  const format::CarriedFlows flows = format::carried_by(record);
  return (flows.allocated | flows.freed | flows.births | flows.deaths) != 0;
}

// Returns the flows of small blocks that a record carries: those since the last record of its thread.
inline format::SmallTotals flows_of(const format::RingRecord& record) {
  const auto type = static_cast<format::EventType>(record.type);
  if (type == format::EventType::birth || type == format::EventType::death)
    return format::carried_by(record).totals();
  if (type == format::EventType::counters) return record.as<format::CountersEvent>().flows;
  return {};
}

// Returns the flows of a record that the levels lack before it is applied. If all flows came before recording
// began, the levels lack only their difference.
inline format::SmallTotals missing_of(const format::RingRecord& record) {
  format::SmallTotals flows = flows_of(record);
  if (static_cast<format::EventType>(record.type) == format::EventType::counters &&
      (record.flags & format::kBefore) != 0) {
    const std::uint64_t both = flows.allocated < flows.freed ? flows.allocated : flows.freed;
    flows.allocated -= both;
    flows.freed -= both;
  }
  return flows;
}

// True if the levels may lack flows before `record` is applied: most births and deaths carry none.
inline bool may_lack(const format::RingRecord& record) {
  const auto type = static_cast<format::EventType>(record.type);
  if (type == format::EventType::counters) return true;
  return (type == format::EventType::birth || type == format::EventType::death) && carries_any(record);
}

// A level is wrong for two reasons.
//
// Flows: before a record is applied, each level lacks the flows that the record carries. The next record of a
// thread may come in a later pass. So the previous pass lacked the flows of the first records of a pass, too.
//
// Order: a record may come in a later pass than records of other threads with later stamps. Either its thread
// lost the CPU while it wrote the record, or the ring of another thread was full and was drained alone. The
// true level is a + b, where b is the level of the late records and a is the level of the others. The recorder
// saw a alone, then the last value of a with each value of b. So the highest level is too low by at most the
// rise of b, and too high by at most its fall. In 160 runs with 32 threads, five peaks were missed, by up to
// 37,360 bytes. An error applies to the levels of its own pass, and only if their window was dropped: for other
// windows, the analyzer has the records.
class LevelError {
 public:
  // Sets the file that takes the records from now on.
  void window_begins(std::uint32_t file) { file_ = file; }
  // Moves the highest levels of a file to the header, because its window was dropped.
  void window_dropped(std::uint32_t file, format::RollupHeader& header) {
    for (Pass& pass : passes_)
      if (pass.file == file) pass.file = kNoFile;
    const Highest& dropped = highest_[file];
    header.highest = larger(header.highest, dropped.seen);
    header.highest_at_least = larger(header.highest_at_least, dropped.at_least);
    header.highest_at_most = larger(header.highest_at_most, dropped.at_most);
    highest_[file] = {};
  }
  // `level`: the level before the first record of the pass.
  void pass_begins(std::int64_t level) {
    seen_ = started_ = last_late_ = highest_late_ = lowest_late_ = level;
    behind_ = 0;
  }
  // Takes the first record of each thread in the pass. Call it before add_record().
  void thread_begins(const format::RingRecord& first) {
    now_.add(missing_of(first));
    firsts_.add(missing_of(first));
    most_.raise(now_);
  }
  // `next`: the next record of the thread; nullptr if this pass has no more. `level`: the level after the
  // record.
  void add_record(const format::RingRecord& record, const format::RingRecord* next, std::int64_t level) {
    const bool more = next != nullptr && may_lack(*next), less = may_lack(record);
    if (more) now_.add(missing_of(*next));
    if (less) now_.take(missing_of(record));
    if (more || less) most_.raise(now_);
    seen_ = larger(seen_, level);
    newest_ = larger(newest_, record.stamp);
    if (used_ != 0 && record.stamp <= passes_[used_ - 1].newest) add_late_record(record.stamp, level);
  }
  // `all`: true if the pass was over all threads.
  void pass_ends(bool all) {
    while (behind_ < used_) add_late_to(passes_[behind_++]);
    for (std::uint32_t i = used_; i-- > 0;) {
      passes_[i].off.add(firsts_);
      if (passes_[i].all) break;
    }
    if (used_ == kPasses) {
      for (std::uint32_t i = 1; i < used_; ++i) passes_[i - 1] = passes_[i];
      --used_;
    }
    passes_[used_++] = {newest_, seen_, most_, file_, all};
    for (std::uint32_t i = 0; i < used_; ++i) note(passes_[i]);
    now_ = most_ = firsts_ = {};
  }

 private:
  // A thread that waits for a CPU may be late by some passes. A delay of more passes than this was never seen.
  static constexpr std::uint32_t kPasses = 32;
  static constexpr std::uint32_t kNoFile = format::kWindowFiles;
  struct ErrorBytes {
    std::int64_t low, high; // a level is too low by up to `low`, too high by up to `high`
    void add(const ErrorBytes& more) { low += more.low, high += more.high; }
    void add(const format::SmallTotals& flows) {
      low += static_cast<std::int64_t>(flows.allocated), high += static_cast<std::int64_t>(flows.freed);
    }
    void take(const format::SmallTotals& flows) {
      low -= static_cast<std::int64_t>(flows.allocated), high -= static_cast<std::int64_t>(flows.freed);
    }
    void raise(const ErrorBytes& to) { low = larger(low, to.low), high = larger(high, to.high); }
  };
  struct Pass {
    format::Stamp newest; // the newest record of this and the earlier passes
    std::int64_t seen;    // the highest level
    ErrorBytes off;
    std::uint32_t file;
    bool all;
  };
  struct Highest {
    std::int64_t seen, at_least, at_most;
  };

  template <class Value>
  static Value larger(Value a, Value b) {
    return a > b ? a : b;
  }
  void note(const Pass& pass) {
    if (pass.file == kNoFile) return;
    Highest& highest = highest_[pass.file];
    highest.seen = larger(highest.seen, pass.seen);
    highest.at_least = larger(highest.at_least, pass.seen - pass.off.high);
    highest.at_most = larger(highest.at_most, pass.seen + pass.off.low);
  }
  void add_late_record(format::Stamp stamp, std::int64_t level) {
    while (stamp > passes_[behind_].newest) add_late_to(passes_[behind_++]);
    last_late_ = level;
    highest_late_ = larger(highest_late_, level);
    lowest_late_ = level < lowest_late_ ? level : lowest_late_;
  }
  // Adds the late records so far to the error of `pass`.
  void add_late_to(Pass& pass) {
    pass.off.low += highest_late_ - started_;
    pass.off.high += larger(started_ - lowest_late_, highest_late_ - last_late_);
  }

  std::uint32_t file_ = kNoFile;
  Highest highest_[format::kWindowFiles] = {};
  ErrorBytes now_ = {};    // flows that the next records of this pass carry
  ErrorBytes most_ = {};   // the largest now_ in this pass
  ErrorBytes firsts_ = {}; // flows of the first records of this pass
  format::Stamp newest_ = 0;
  std::int64_t seen_ = 0, started_ = 0;                             // levels of this pass
  std::int64_t last_late_ = 0, highest_late_ = 0, lowest_late_ = 0; // levels of its late records
  Pass passes_[kPasses] = {};                                       // the last passes, oldest first
  std::uint32_t used_ = 0;
  std::uint32_t behind_ = 0; // passes that are older than the record
};

} // namespace memtrace::rollup
