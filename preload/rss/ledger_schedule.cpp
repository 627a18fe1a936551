// Purpose: when to take the ledger of the process: at the peaks of RSS, which last tens of milliseconds, and
// seldom otherwise.
// Runs: on the background thread.
#include "preload/rss/ledger_schedule.h"

#include "preload/format/ledger_soundness.h"
#include "preload/kernel/statm.h"
#include "preload/os/clocks.h"
#include "preload/record/live_levels.h"
#include "preload/rss/inherited_ranges.h"
#include "preload/rss/ledger_handshake.h"
#include "preload/rss/ledger_records.h"
#include "preload/rss/rss_ledger.h"
#include "preload/samples/climb.h"

namespace memtrace::record {

namespace {

constexpr std::uint64_t kLookNs = 10'000'000;
// While the program's steps repeat. A look takes 30 us: each 10 ms, looks took 0.7 % of the CPU of small steps.
constexpr std::uint64_t kSteadyLookNs = 50'000'000;
constexpr std::uint64_t kSteadyNs =
    1'000'000'000;                                // steps repeat if `live` was not higher than ever for so long
constexpr std::uint64_t kFarLookNs = 200'000'000; // far from the highest `live`: pages of files also raise RSS
constexpr std::uint64_t kWaitNs = 10'000'000;     // for an answer, which wakes the background thread
constexpr std::uint64_t kSeldomNs = 4'000'000'000;
constexpr std::uint64_t kAgainNs = 250'000'000; // after a ledger that is not sound, while RSS is unchanged
// The CPU time that ledgers may use: a share of the time, and a share of the first ten seconds, in which peaks
// come one after the other. The less of it is left, the higher above the last one a peak has to be.
constexpr std::uint64_t kShare = 1000;
constexpr std::uint64_t kEarlyShare = 50;
constexpr std::uint64_t kEarlyNs = 10'000'000'000;
constexpr std::uint64_t kNew = 256; // 1 part more than the highest is a new peak
constexpr std::uint64_t kFar = 2;
constexpr std::uint64_t kTurnNs = 2'000'000;       // of CPU in one turn, for rings and samples wait
constexpr std::uint64_t kStandTurnNs = 10'000'000; // while a thread is paused, which waits 50 ms at most
constexpr std::uint64_t kLastNs = 50'000'000;      // of CPU at the program's end, which waits for it
constexpr std::uint64_t kLastWaitNs = 150'000'000; // of wall time at the program's end
constexpr std::uint64_t kTurnShare = 100;          // 1 part of the time for turns, once the limit is spent
constexpr std::uint64_t kPaused = 512; // at most 1 part more than at the last look: RSS does not climb

constinit std::int64_t highest_live = 0;
constinit std::int64_t risen_to = 0;       // the highest `live` that was clearly higher than any before
constinit std::uint64_t rose = 0;          // time of the first look at it
constinit std::uint64_t highest_taken = 0; // highest RSS of a ledger
constinit bool again = false;              // the highest ledger is not sound
constinit std::uint64_t last_look = 0;     // RSS at the last look
constinit std::uint64_t looked = 0;        // time of the last look
constinit std::uint64_t resident_read = 0; // time of last_look
constinit std::uint64_t began = 0;
constinit std::uint64_t taken = 0; // time of the last ledger
constinit std::uint64_t spent = 0;
constinit bool calling = false;
constinit bool last_asked = false;
constinit Residents residents{};

enum class LedgerStage : std::uint8_t { none, pages, named };
constinit LedgerStage stage = LedgerStage::none; // of the ledger that is half done
constinit std::uint16_t stage_flags = 0;
constinit bool stage_given = false;    // the allocator's answer
constinit std::uint64_t cost = 0;      // of this ledger so far
constinit std::uint64_t next_turn = 0; // the time of the next turn at the earliest

std::int64_t next_rise() {
  return risen_to + risen_to / static_cast<std::int64_t>(kNew);
}

bool near_highest() {
  const std::int64_t now = host_level();
  if (now > highest_live) highest_live = now;
  if (now > next_rise()) {
    risen_to = now;
    rose = os::monotonic_ns();
  }
  look_at_climb(os::monotonic_ns(), last_look);
  return now >= highest_live - highest_live / 8;
}

// Returns the time between two looks at RSS near the highest `live`, in ns.
std::uint64_t near_pause(std::uint64_t now) {
  return now - rose < kSteadyNs ? kLookNs : kSteadyLookNs;
}

bool is_at_clear_peak() {
  return resident_now() > highest_taken + highest_taken / kNew;
}

std::uint64_t allowed(std::uint64_t time) {
  return time / kShare + (time < kEarlyNs ? time : kEarlyNs) / kEarlyShare;
}

// Returns false if the kernel's highest RSS shows that RSS is no new peak by 1 part. Such looks are cheap. They
// do not replace all: where the counters are not exact, a peak is seen later.
bool may_be_peak(std::uint64_t now, std::uint64_t part) {
  return again || now - resident_read >= kSteadyLookNs ||
         resident_at_most() > highest_taken + highest_taken / part;
}

bool is_due(std::uint64_t now) {
  const std::uint64_t most = allowed(now - began);
  if (spent <= most / 2 && now - taken >= kSeldomNs) return true;
  if (now - looked < (near_highest() ? near_pause(now) / 2 : kFarLookNs)) return false;
  looked = now;
  const std::uint64_t part = spent <= most / 2 ? kNew : spent <= most / 4 * 3 ? kNew / 4 : kNew / 8;
  if (!may_be_peak(now, part)) return false;
  const std::uint64_t before = last_look;
  last_look = resident_now();
  resident_read = now;
  if (last_look > highest_taken + highest_taken / kFar) return true;
  if (again && spent <= most && now - taken >= kAgainNs)
    return last_look >= highest_taken - highest_taken / kNew;
  return spent <= most && last_look > highest_taken + highest_taken / part &&
         last_look <= before + before / kPaused;
}

void write_it() {
  residents.stood = stood_so_far();
  residents.cost = cost;
  if (!write_ledger(residents, stage_flags)) return;
  const bool sound = format::is_sound({residents.total, residents.allocator_asked, residents.drift});
  const bool as_high = residents.total >= highest_taken - highest_taken / kNew;
  if (as_high) again = !sound && stage_given;
  if (residents.total > highest_taken) highest_taken = residents.total;
}

void look_at_pages(const Turn& turn, std::uint64_t before) {
  const LedgerProgress look = take_residents(last_answer(), turn, &residents);
  if (look == LedgerProgress::later) return;
  ledger_was_taken(look == LedgerProgress::done ? residents.total : 0, highest_live,
                   cost + os::thread_cpu_ns() - before);
  calling = false;
  stage = look == LedgerProgress::done ? LedgerStage::named : LedgerStage::none;
}

void go_on(const Turn& turn) {
  const std::uint64_t before = os::thread_cpu_ns();
  if (stage == LedgerStage::pages) look_at_pages(turn, before);
  const bool all = stage == LedgerStage::named && complete_residents(turn, &residents);
  const std::uint64_t took = os::thread_cpu_ns() - before;
  cost += took;
  if (all) {
    stage = LedgerStage::none;
    write_it();
  }
  spent += os::thread_cpu_ns() - before;
  taken = os::monotonic_ns();
  next_turn = spent <= allowed(taken - began) ? 0 : taken + took * kTurnShare;
}

void begin(std::uint16_t flags) {
  stage = LedgerStage::pages;
  stage_flags = flags;
  stage_given = last_answer().given;
  cost = 0;
}

// Returns the turn for a part of a ledger. Beside two busy processes, a ledger of 1.8 GiB in turns of 2 ms took
// longer than the pause: the allocator's answer was old when the ledger was done.
Turn a_turn() {
  return Turn(a_thread_stands() ? kStandTurnNs : kTurnNs);
}

void take() {
  begin(0);
  go_on(a_turn());
}

} // namespace

std::uint64_t ledger_pause() {
  if (stage != LedgerStage::none) {
    const std::uint64_t now = os::monotonic_ns();
    return now < next_turn ? next_turn - now : 0;
  }
  if (calling) return kWaitNs;
  const bool near = near_highest();
  watch_level(near ? next_rise() : highest_live - highest_live / 8);
  return near ? near_pause(os::monotonic_ns()) : kSeldomNs;
}

void ledger_turn() {
  const std::uint64_t now = os::monotonic_ns();
  const bool first = began == 0;
  if (first) began = taken = now;
  if (stage != LedgerStage::none) {
    if (now >= next_turn) go_on(a_turn());
    return;
  }
  if (ledger_is_answered()) return take();
  if (calling) {
    // One page more than ever is not a peak. At a clear new peak the wait is short; else a program that
    // allocates four times a second has time to answer.
    if (answer_timed_out(&is_at_clear_peak)) take();
    return;
  }
  // The first ledger of a forked child shows what it inherited.
  calling = (first && inherited_is_noted()) || is_due(now);
  if (calling) call_for_ledger();
}

void ask_for_last_ledger() {
  __atomic_store_n(&last_asked, true, __ATOMIC_RELEASE);
}
void take_last_ledger_if_asked() {
  if (!__atomic_load_n(&last_asked, __ATOMIC_ACQUIRE)) return;
  last_asked = false;
  leave_ledger();
  if (!ledger_is_answered() && !take_unanswered()) return;
  begin(format::kLedgerLast);
  go_on(Turn(kLastNs, kLastWaitNs));
}

void leave_ledger() {
  if (stage == LedgerStage::none) return;
  leave_residents();
  if (stage == LedgerStage::pages) ledger_was_taken(0, highest_live, cost);
  stage = LedgerStage::none;
  calling = false;
}

void forget_ledgers() {
  highest_live = risen_to = 0;
  rose = 0;
  highest_taken = last_look = looked = resident_read = began = taken = spent = 0;
  calling = last_asked = again = false;
  stage = LedgerStage::none;
  next_turn = 0;
  watch_no_level();
  forget_ledger_records();
  forget_residents();
}

} // namespace memtrace::record
