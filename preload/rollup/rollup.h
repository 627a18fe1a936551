// Purpose: the records of all threads, in order of their stamps -> what a window's snapshot and the rollup rows
// say.
// Runs: in the drain and, when its ring is full, on the program's thread.
#pragma once

#include "preload/rollup/level_error.h"
#include "preload/rollup/open_phases.h"

namespace memtrace::rollup {

// What a thread's records carried so far, and no more: kept for those that live.
struct Carried {
  std::uint32_t thread;
  format::SmallTotals total;
  std::uint64_t hash() const { return mix(thread, 0); }
  bool same(const Carried& other) const { return thread == other.thread; }
};

class Rollup {
 public:
  // Bytes inherited by a forked child. Starts from nothing: memory of before is not given back.
  void start(const Host& host, bool forked, std::int64_t live_bytes, std::int64_t tensor_bytes);
  bool started() const { return host_.map != nullptr; }
  void forget(); // as if it had never started

  void apply(std::uint32_t thread, const format::RingRecord& record);
  // Applied soon: a table of many blocks is fetched from far.
  [[gnu::always_inline]] void expect(const format::RingRecord& record) const {
    if (record.type <= static_cast<std::uint8_t>(format::EventType::death)) ledger_.expect(record);
  }
  void lost(std::uint64_t births, std::uint64_t deaths) { ledger_.lost(births, deaths); }
  // Before a pass that lacks records of some threads: a death may come before its birth.
  void pass_lacks_records() { ledger_.ragged(true); }
  // All of a pass was applied. `complete`: nothing recorded before what comes next is missing.
  void passed(bool complete);

  // From now on steps that are over go to the rows of this file: see FileRows::attach.
  void attach(void* memory, std::size_t bytes, std::uint64_t trace_id, format::Stamp from);
  bool attached() const { return file_.attached(); }
  format::RollupHeader& header() { return file_.header(); }
  LevelError& level_error() { return level_error_; } // used while a file is attached
  // At the orderly end: also the step that is not over, and the phases that are open.
  void close();

  // Writes what is so now as records of a window's beginning. `most_held`: blocks at most; the largest.
  using WriteRecord = void (*)(void* out, const format::RingRecord& record);
  void snapshot(std::uint32_t window, format::Stamp stamp, std::uint64_t most_held, WriteRecord put, void* out);

  const Ledger& ledger() const { return ledger_; }
  template <class Take>
  void each_block(Take take) {
    ledger_.each(take);
  }
  const Levels& levels() const { return ledger_.levels(); }
  // The highest levels of the host since the last call of forget_highest().
  std::int64_t highest(LevelKind measure) const { return highest_[measure]; }
  void forget_highest();

  std::uint64_t live_bytes() const { return ledger_.live_bytes(); }
  std::uint64_t bytes() const; // of everything else

 private:
  struct PendingHalf { // the second half of a move: a birth, or of a mapping what put_down() takes
    std::uint32_t thread;
    format::RingRecord record;
  };
  static constexpr std::uint32_t kLater = 64;

  void births_until(format::Stamp stamp);
  void apply_now(std::uint32_t thread, const format::RingRecord& record);
  void move(std::uint32_t thread, const format::RingRecord& record);
  void defer(std::uint32_t thread, const format::RingRecord& half);
  void see_highest();
  void carry(std::uint32_t thread, const format::SmallTotals& flows, const PhasePlace& place);
  void step_over();

  Host host_ = {};
  Ledger ledger_;
  OpenPhases phases_;
  FileRows file_;
  LevelError level_error_;
  Dense<Carried, 64, 16 * 1024> carried_;
  StepId step_ = kNoStep; // up to which rows were published
  std::int64_t highest_[2] = {};
  std::uint32_t later_used_ = 0;
  PendingHalf later_[kLater] = {}; // the earliest last
};

} // namespace memtrace::rollup
