// Purpose: blocks below MEMTRACE_EXACT_MIN: each is counted, some are sampled.
// Runs: inside every malloc and free.
#include "preload/blocks/small_blocks.h"

#include <iterator>

#include "preload/blocks/recording.h"
#include "preload/os/timestamp.h"
#include "preload/record/block_sampler.h"
#include "preload/record/thread_entry.h"
#include "preload/state/arming.h"
#include "preload/state/fork_mark.h"
#include "preload/state/loss_counters.h"
#include "preload/state/recorder_state.h"

namespace memtrace::record {

namespace {

// Flows of threads that could not be registered, because a signal handler interrupted a registration. The next
// registered thread takes them.
constinit format::SmallTotals stray{};

// Returns this thread's entry, registered now if it is new, and counts `flows`. Returns nullptr if the thread
// could not be registered.
Thread* seen(const Recording& here, const format::SmallTotals& flows) {
  if (here) notice_fork();
  Thread* const thread = here ? this_thread() : local.thread;
  std::uint64_t* const strays[] = {&stray.allocated, &stray.freed, &stray.births, &stray.deaths};
  const std::uint64_t these[] = {flows.allocated, flows.freed, flows.births, flows.deaths};
  if (thread == nullptr) {
    for (std::size_t i = 0; i < std::size(these); ++i)
      __atomic_fetch_add(strays[i], these[i], __ATOMIC_RELAXED);
  } else {
    std::uint64_t* const counters[] = {&local.small->allocated, &local.small->freed, &local.small->births,
                                       &local.small->deaths};
    for (std::size_t i = 0; i < std::size(these); ++i) {
      // A read first, because threads share the cache line.
      const bool some = __atomic_load_n(strays[i], __ATOMIC_RELAXED) != 0;
      add_to(*counters[i], these[i] + (some ? __atomic_exchange_n(strays[i], 0, __ATOMIC_RELAXED) : 0));
    }
  }
  return thread;
}

// True if the flows are worth a record. The startup log has room for few records, and a process that is too
// small to record must not fill it.
bool worth_a_record(const Thread& thread) {
  if (state() != State::buffering) return true;
  const format::SmallTotals flows = unpublished(thread);
  return flows.allocated >= kTickBytes || flows.freed >= kTickBytes;
}

void arm(Pace& pace) {
  pace.armed = pace.until_sample < pace.until_tick ? pace.until_sample : pace.until_tick;
  local.births_left = pace.armed;
}

void take_sample(const Recording& here, const HookedBlock& block) {
  if (!here) {
    event_is_lost();
  } else if (is_armed()) {
    here.tick();
  } else if (sampled_put(block.address)) {
    here.born(block);
  }
}

} // namespace

void look_at_birth(std::uint64_t address, std::size_t given, std::size_t asked) {
  const Recording here;
  const bool first = local.small == &uncounted;
  Thread* const thread = seen(here, {given, 0, 1, 0});
  if (thread == nullptr) return;
  Pace& pace = thread->pace;
  const std::int64_t passed = first ? static_cast<std::int64_t>(given) : pace.armed - local.births_left;
  pace.until_sample -= passed;
  pace.until_tick -= passed;
  const bool drawn = pace.until_sample <= 0;
  const bool tick = pace.until_tick <= 0;
  if (drawn) pace.until_sample = next_interval(pace.random, settings.sample);
  if (drawn || tick)
    pace.until_tick = tick_bytes(*thread); // the record of a sampled block also carries the flows
  set_look_at_births(*thread, pace.until_tick);
  arm(pace);
  if (drawn && address != 0) {
    take_sample(here, {address, given, asked, format::Kind::heap, format::kSampled});
  } else if (((tick && worth_a_record(*thread)) || first) && here) {
    here.tick(); // the first tick: from then on the counters survive a kill
  }
}

void look_at_death(std::size_t given) {
  const Recording here;
  Thread* const thread = seen(here, {0, given, 0, 1});
  if (thread == nullptr) return;
  local.deaths_left = tick_bytes(*thread);
  set_look_at_deaths(*thread, local.deaths_left);
  if (here && worth_a_record(*thread)) here.tick();
}

void notice_raw_fork() {
  if (const Recording here; here) notice_fork();
}

bool sampled_leaves(std::uint64_t address) {
  const Recording here;
  if (!here) {
    if (sampled_holds(address)) event_is_lost();
    return false;
  }
  notice_fork();
  return sampled_take(address);
}

void sampled_stays(std::uint64_t address) {
  if (const Recording here; here) sampled_put(address);
}

void sampled_died(std::uint64_t address, std::size_t given, format::Stamp death) {
  if (const Recording here; here) here.died({address, given, 0, format::Kind::heap, format::kSampled}, death);
}

void sampled_dies(std::uint64_t address, std::size_t given) {
  if (sampled_leaves(address)) sampled_died(address, given, draw_stamp());
}

} // namespace memtrace::record
