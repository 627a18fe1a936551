// Purpose: safe points for a ledger: a thread of the program queries the allocator for its retained memory, and
// pauses, within limits, while the background thread measures the pages.
// Runs: on the program's threads, outside their allocator's calls.
#include "preload/rss/ledger_handshake.h"

#include "preload/blocks/recording.h"
#include "preload/kernel/statm.h"
#include "preload/os/clocks.h"
#include "preload/os/threads.h"
#include "preload/record/live_levels.h"
#include "preload/state/doorbell.h"
#include "preload/state/pauses.h"
#include "preload/state/recorder_state.h"
#include "preload/state/thread.h"

namespace memtrace::record {

constinit std::uint32_t ledger_call = 0;
constinit std::int64_t ledger_brink = 0;

namespace {

// The limits of the pauses of all threads together: kFirstNs for the first peak, a share of the time, and a
// share of the first ten seconds. In these seconds, memory climbs from 80 MiB to the size of the model:
// falcon_adamw takes 100 ms there.
constexpr std::uint64_t kFirstNs = 5'000'000;
constexpr std::uint64_t kShare = 1000;
constexpr std::uint64_t kEarlyShare = 50;
constexpr std::uint64_t kEarlyNs = 10'000'000'000;
constexpr std::uint64_t kUntilTakingNs = 20'000'000; // a background thread that writes to disk comes too late
// Between two looks at RSS, which take up to 30 us each. If `live` was as high at a look before, the step
// repeats. Its looks each 2 ms took 0.5 % of the CPU of small steps.
constexpr std::uint64_t kBetweenNs = 2'000'000;
constexpr std::uint64_t kSteadyBetweenNs = 40'000'000;
constexpr std::uint64_t kPatienceNs = 400'000'000; // at a peak, which may end
constexpr std::uint64_t kLongPatienceNs = 500'000'000;
constexpr std::uint64_t kLostNs = 1'000'000'000; // a handler's jump took the thread out of its query
// RSS is a new peak if it is 1 part higher than the highest. If the last ledger was more recent, the part is
// larger.
constexpr std::uint64_t kNewMost = 16;
constexpr std::uint64_t kNewLeast = 192;
// A peak ends if 1 part in kFall of `live` dies. It also ends if 1 part in kRise came since the last look and
// its first block dies. glibc returns 100 MiB at the free of a much smaller block, if the memory below the top
// was free already.
constexpr std::int64_t kFall = 128;
constexpr std::int64_t kRise = 256;

constinit bool unsafe = false; // true in the child of a raw clone
constinit std::uint64_t began = 0;
constinit std::uint64_t stood = 0;
constinit bool standing = false;
constinit std::uint64_t called = 0;
constinit std::uint64_t looked = 0;
constinit std::int64_t lowest = 0;       // lowest `live` since then, at large deaths
constinit std::uint64_t highest = 0;     // highest RSS of a ledger
constinit std::int64_t highest_live = 0; // at those looks
constinit std::uint64_t taken = 0;       // time of the last ledger
constinit std::uint64_t last_cost = 0;
constinit AllocatorAnswer answer{};

std::uint32_t number(Call call) {
  return static_cast<std::uint32_t>(call);
}
Call now() {
  return static_cast<Call>(__atomic_load_n(&ledger_call, __ATOMIC_ACQUIRE));
}
bool change(Call from, Call to) {
  std::uint32_t expected = number(from);
  return __atomic_compare_exchange_n(&ledger_call, &expected, number(to), false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED);
}

// True if this thread may pause. A signal handler may not: it runs with its signal blocked, and may have
// interrupted the allocator.
bool may_stand_here() {
  return !unsafe && state() == State::recording && local.busy == 0 && !os::in_signal_handler();
}
bool may_be_asked() {
  return local.inside == 0 && may_stand_here();
}

std::uint64_t most_at(std::uint64_t time) {
  const std::uint64_t start = __atomic_load_n(&began, __ATOMIC_RELAXED);
  const std::uint64_t since = start == 0 ? 0 : time - start;
  return kFirstNs + since / kShare + (since < kEarlyNs ? since : kEarlyNs) / kEarlyShare;
}

// True if the pauses so far allow another one. One eighth of the limit is reserved for falls. When it was one
// half, ledgers of pandas' peaks beside two busy processes were taken without a pause, and did not add up.
bool may_stand(std::uint64_t time, Call why) {
  const std::uint64_t most = most_at(time);
  return __atomic_load_n(&stood, __ATOMIC_RELAXED) < (why == Call::wanted ? most / 8 * 7 : most);
}

// Returns the part by which a new peak must be higher: the time since the last ledger, in units of its cost. A
// climb has many peaks, and only the last one counts. When threads paused at each rise of 1 part in 128, the
// limit was used up early. The peaks of the later steps were then missed by 1.5 to 4.5 %.
std::uint64_t new_part(std::uint64_t time) {
  const std::uint64_t since = time - __atomic_load_n(&taken, __ATOMIC_RELAXED);
  const std::uint64_t part = since / (__atomic_load_n(&last_cost, __ATOMIC_RELAXED) + 1);
  return part < kNewMost ? kNewMost : part > kNewLeast ? kNewLeast : part;
}

void wait_while(Call what, std::uint64_t until) {
  for (std::uint64_t time; now() == what && (time = os::monotonic_ns()) < until;)
    os::futex_wait(&ledger_call, number(what), until - time);
}

// Queries the allocator. No other thread uses the call meanwhile. Mappings that the allocator makes meanwhile
// are its own.
void ask() {
  ++local.inside;
  KeptFree kept;
  answer.given = ask_allocator(&kept);
  --local.inside;
  answer.kept = kept;
  answer.flowed = flows_since_fork();
  answer.moving = 0;
}

// Waits until the ledger is taken. `since`: when the pause began, with the query of the allocator.
void wait_for_ledger(std::uint64_t since) {
  const std::uint64_t longest = longest_ledger_pause();
  wait_while(Call::answered, since + (longest < kUntilTakingNs ? longest : kUntilTakingNs));
  wait_while(Call::taking, since + longest);
}

void stand(Call why) {
  if (!may_be_asked()) return;
  const Recording here;
  if (!here ||
      (!change(Call::wanted, Call::asking) && (why == Call::wanted || !change(Call::none, Call::asking))))
    return;
  const std::uint64_t paused = os::monotonic_ns();
  const std::uint64_t before = os::thread_cpu_ns();
  ask();
  __atomic_fetch_add(&stood, os::thread_cpu_ns() - before, __ATOMIC_RELAXED);
  const bool stands = may_stand(os::monotonic_ns(), why);
  __atomic_store_n(&standing, stands, __ATOMIC_RELAXED);
  __atomic_store_n(&ledger_call, number(Call::answered), __ATOMIC_RELEASE);
  wake_for_look();
  if (stands) wait_for_ledger(paused);
  count_pause(os::monotonic_ns() - paused);
}

// True if RSS is a new peak. Reads RSS at most every kBetweenNs.
bool is_new_peak(std::uint64_t time) {
  const std::int64_t level = host_level(), before = __atomic_load_n(&highest_live, __ATOMIC_RELAXED);
  const bool rises = level > before + before / kRise;
  if (time - __atomic_load_n(&looked, __ATOMIC_RELAXED) < (rises ? kBetweenNs : kSteadyBetweenNs)) return false;
  if (rises) __atomic_store_n(&highest_live, level, __ATOMIC_RELAXED);
  __atomic_store_n(&looked, time, __ATOMIC_RELAXED);
  const std::uint64_t last = __atomic_load_n(&highest, __ATOMIC_RELAXED);
  return resident_now() > last + last / new_part(time);
}

} // namespace

void stand_for_ledger() {
  stand(Call::wanted);
}

void stand_before_fall(std::size_t given) {
  const std::int64_t level = host_level(), dies = static_cast<std::int64_t>(given);
  const std::int64_t before = __atomic_load_n(&lowest, __ATOMIC_RELAXED);
  if (level - dies < before) __atomic_store_n(&lowest, level - dies, __ATOMIC_RELAXED);
  if (dies < level / kFall && level - before < level / kRise) return;
  if (state() != State::recording || local.busy != 0) return;
  __atomic_store_n(&lowest, level - dies, __ATOMIC_RELAXED);
  if (is_new_peak(os::monotonic_ns())) stand(Call::none);
}

void stand_before_purge(std::uint64_t address, std::size_t bytes) {
  if (static_cast<std::int64_t>(bytes) < host_level() / kFall || state() != State::recording || local.busy != 0)
    return;
  const std::uint64_t time = os::monotonic_ns();
  if (!is_new_peak(time) || !may_stand(time, Call::none) || !may_stand_here()) return;
  const Recording here;
  if (!here || (!change(Call::none, Call::asking) && !change(Call::wanted, Call::asking))) return;
  // The purge may also return other free pages, even before the block was copied.
  answer.moving = local.moving_from - address < bytes ? local.moving : 0;
  __atomic_store_n(&standing, true, __ATOMIC_RELAXED);
  __atomic_store_n(&ledger_call, number(Call::answered), __ATOMIC_RELEASE);
  wake_for_look();
  wait_for_ledger(time);
  count_pause(os::monotonic_ns() - time);
  if (change(Call::answered, Call::asking)) { // the ledger came too late: the block has one place again
    answer.moving = 0;
    __atomic_store_n(&ledger_call, number(Call::none), __ATOMIC_RELEASE);
  }
}

void answer_at_end() {
  if (!may_be_asked()) return;
  // While the background thread takes a ledger, no thread can answer. Without this wait, the last ledger has an
  // older answer, or none.
  wait_while(Call::taking, os::monotonic_ns() + longest_ledger_pause());
  if (!change(Call::wanted, Call::asking) && !change(Call::none, Call::asking) &&
      !change(Call::answered, Call::asking))
    return;
  os::futex_wake(&ledger_call); // a thread that is paused after its answer goes on
  ask();
  __atomic_store_n(&ledger_call, number(Call::none), __ATOMIC_RELEASE);
}

void call_for_ledger() {
  called = os::monotonic_ns();
  if (began == 0) __atomic_store_n(&began, called, __ATOMIC_RELAXED);
  change(Call::none, Call::wanted);
}

bool ledger_is_answered() {
  return change(Call::answered, Call::taking);
}

bool a_thread_stands() {
  return __atomic_load_n(&standing, __ATOMIC_RELAXED);
}

bool answer_timed_out(bool (*is_at_peak)()) {
  const std::uint64_t since = os::monotonic_ns() - called;
  if (since > kLostNs && change(Call::asking, Call::none)) return true;
  const bool is_over = since > kLongPatienceNs || (since > kPatienceNs && is_at_peak());
  return is_over && change(Call::wanted, Call::taking);
}

bool take_unanswered() {
  return change(Call::none, Call::taking) || change(Call::wanted, Call::taking);
}

const AllocatorAnswer& last_answer() {
  return answer;
}

void ledger_was_taken(std::uint64_t resident, std::int64_t most_live, std::uint64_t cost) {
  if (__atomic_exchange_n(&standing, false, __ATOMIC_ACQ_REL)) {
    const std::uint64_t longest = longest_ledger_pause();
    __atomic_fetch_add(&stood, cost < longest ? cost : longest, __ATOMIC_RELAXED);
  }
  __atomic_store_n(&taken, os::monotonic_ns(), __ATOMIC_RELAXED);
  __atomic_store_n(&last_cost, cost, __ATOMIC_RELAXED);
  answer.moving = 0;
  if (resident > highest) __atomic_store_n(&highest, resident, __ATOMIC_RELAXED);
  __atomic_store_n(&ledger_brink, most_live - most_live / 8, __ATOMIC_RELAXED);
  __atomic_store_n(&ledger_call, number(Call::none), __ATOMIC_RELEASE);
  os::futex_wake(&ledger_call);
}

std::uint64_t stood_so_far() {
  return __atomic_load_n(&stood, __ATOMIC_RELAXED);
}

void forget_ledger_moments(bool raw) {
  if (raw) unsafe = true;
  ledger_call = number(Call::none);
  ledger_brink = 0;
  began = stood = called = looked = highest = taken = last_cost = 0;
  lowest = highest_live = 0;
  standing = false;
  answer = {};
}

} // namespace memtrace::record
