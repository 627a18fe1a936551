// Purpose: from the records of all threads, in order of their stamps, to the snapshot of a window and the rows
// of the rollup.
// Runs: in the drain and, when its ring is full, on the program's thread.
#pragma once

#include "preload/rollup/level_error.h"
#include "preload/rollup/open_phases.h"

namespace memtrace::rollup {

// The flows that the records of one thread carried so far. Retained only for threads that may still record.
struct Carried {
  std::uint32_t thread;
  format::SmallTotals total;
  std::uint64_t hash() const { return mix(thread, 0); }
  bool same(const Carried& other) const { return thread == other.thread; }
};

class Rollup {
 public:
  // `live_bytes` and `tensor_bytes` are inherited by a forked child. Starts empty; earlier memory is not freed.
  void start(const Host& host, bool forked, std::int64_t live_bytes, std::int64_t tensor_bytes);
  bool started() const { return host_.map != nullptr; }
  void forget(); // as if start() had never run

  void apply(std::uint32_t thread, const format::RingRecord& record);
  // For a record that is applied soon. Call expect_young() first, and expect_old() some records later.
  [[gnu::always_inline]] void expect_young(const format::RingRecord& record) const {
    if (record.type <= static_cast<std::uint8_t>(format::EventType::death)) ledger_.expect_young(record);
  }
  [[gnu::always_inline]] void expect_old(const format::RingRecord& record) const {
    if (record.type <= static_cast<std::uint8_t>(format::EventType::death)) ledger_.expect_old(record);
  }
  void lost(std::uint64_t births, std::uint64_t deaths) { ledger_.lost(births, deaths); }
  // Call it before a pass that lacks records of some threads: a death may come before its birth.
  void pass_lacks_records() { ledger_.ragged(true); }
  // Call it after a pass was applied. `complete`: no record that is earlier than the next ones is missing.
  void passed(bool complete);

  // Writes the steps that end from now on to the rows of this file, see FileRows::attach().
  void attach(void* memory, std::size_t bytes, std::uint64_t trace_id, format::Stamp from);
  bool attached() const { return file_.attached(); }
  format::RollupHeader& header() { return file_.header(); }
  LevelError& level_error() { return level_error_; } // used while a file is attached
  // Writes the remaining rows at the orderly end, also of the present step and of the open phases.
  void close();

  // Writes the present state as the first records of a window or keyframe. `most_held`: lists at most so many
  // blocks, the largest.
  using WriteRecord = void (*)(void* out, const format::RingRecord& record);
  void snapshot(std::uint32_t window, format::Stamp stamp, std::uint64_t most_held, WriteRecord put, void* out);

  StepId step() const { return step_; } // the present one, as far as records were applied

  const Ledger& ledger() const { return ledger_; }
  template <class Take>
  void each_block(Take take) {
    ledger_.each(take);
  }
  const Levels& levels() const { return ledger_.levels(); }
  // Returns the highest levels since the last call of forget_highest().
  const Levels& highest() const { return highest_; }
  void forget_highest();

  std::uint64_t live_bytes() const { return ledger_.live_bytes(); }
  std::uint64_t bytes() const; // of everything but the live blocks

 private:
  struct PendingHalf { // the second half of a move: a birth, or the half that put_down() takes
    std::uint32_t thread;
    format::RingRecord record;
  };
  static constexpr std::uint32_t kLater = 64;

  void births_until(format::Stamp stamp);
  void apply_now(std::uint32_t thread, const format::RingRecord& record);
  void move(std::uint32_t thread, const format::RingRecord& record);
  void defer(std::uint32_t thread, const format::RingRecord& half);
  void see_highest(unsigned memory);
  void carry(std::uint32_t thread, const format::SmallTotals& flows, const PhasePlace& place);
  void step_over();

  Host host_ = {};
  Ledger ledger_;
  OpenPhases phases_;
  FileRows file_;
  LevelError level_error_;
  Dense<Carried, 64, 16 * 1024> carried_;
  StepId step_ = kNoStep; // the rows of earlier steps were published
  Levels highest_ = {};
  std::uint32_t later_used_ = 0;
  PendingHalf later_[kLater] = {}; // the earliest is last
};

} // namespace memtrace::rollup
