// Purpose: when to take which sample: seldom as a rule, often if a limit is close.
// Runs: on the background thread; before it starts, on the thread that begins to record.
#include "preload/samples/sample_schedule.h"

#include "preload/kernel/exact_rss.h"
#include "preload/kernel/growth.h"
#include "preload/kernel/statm.h"
#include "preload/os/clocks.h"
#include "preload/record/interner.h"
#include "preload/record/live_levels.h"
#include "preload/record/stack_capture.h"
#include "preload/samples/block_residency.h"
#include "preload/samples/climb.h"
#include "preload/samples/kernel_samples.h"
#include "preload/stack/native_unwinder.h"
#include "preload/state/doorbell.h"

namespace memtrace::record {
namespace {

constexpr std::uint64_t kFarNs = 500'000'000;  // process and groups, without a request
constexpr std::uint64_t kNearNs = 25'000'000;  // process and groups near a limit, while it comes closer
constexpr std::uint64_t kAskedNs = 50'000'000; // the process alone, where a phase begins or ends
constexpr std::uint64_t kFarShare = 2000;      // 1 part of the time for each of the two: 0.1 % together
constexpr std::uint64_t kNearShare = 100;
constexpr unsigned kMachineEach = 4;
constexpr std::uint64_t kGrowthShare = 200;           // of the time, for looks at RSS and samples when it grows
constexpr std::uint64_t kGrowthNs = 100'000'000;      // additional time, because a kill comes only once
constexpr std::uint64_t kGiveBackNs = 60'000'000'000; // least time between two drops of the caches

constinit std::uint64_t sampled = 0;          // time of the last sample
constinit std::uint64_t asked_gap = kAskedNs; // grows with the cost of a sample of the process
constinit std::uint64_t groups_sampled = 0;
constinit std::uint64_t groups_cost = 0; // mean of the last few, in ns
constinit unsigned groups_count = 0;     // samples since the last one of the machine
constinit std::uint64_t near_gap = kNearNs;
constinit std::uint64_t until_half = ~std::uint64_t{0}; // time until half of the distance is gone, at that pace
constinit Closeness close{};
constinit std::uint64_t given_back = 0; // time when the caches were last dropped
constinit std::int64_t level_then = 0;  // `live` of the host at the last sample of the groups
constinit Growth growth{};
constinit std::uint64_t growth_began = 0;
constinit std::uint64_t growth_spent = 0;

std::uint64_t larger(std::uint64_t a, std::uint64_t b) {
  return a > b ? a : b;
}

// Returns the mean of the last few costs, because a single cost may be an outlier.
std::uint64_t mean(std::uint64_t before, std::uint64_t cost) {
  return (3 * before + cost) / 4;
}

std::uint64_t least_gap() {
  return larger(kNearNs, groups_cost * kNearShare);
}
std::uint64_t groups_gap() {
  const std::uint64_t gap = close.near ? near_gap : larger(kFarNs, groups_cost * kFarShare);
  return larger(gap < until_half ? gap : until_half, least_gap());
}

// Returns the time until the next sample of the groups; if one is requested, the time until it is allowed.
std::uint64_t time_left(std::uint64_t now, Sample asked) {
  const std::uint64_t gap = asked == Sample::all ? least_gap() : groups_gap();
  const std::uint64_t since = now - groups_sampled;
  return since < gap ? gap - since : 0;
}

bool half_is_gone() {
  if (growth.half_is_gone()) return true;
  const std::int64_t grown = exact_host_level() - level_then;
  return grown > 0 && static_cast<std::uint64_t>(grown) > close.left / 2;
}

bool groups_are_due(std::uint64_t now, Sample asked) {
  const std::uint64_t since = now - groups_sampled;
  if (since >= groups_gap()) return true;
  return since >= least_gap() && (asked == Sample::all || half_is_gone());
}

// Drops the caches near a limit, because the recorder's memory counts, too. Entries from imports are seldom
// needed again, and the other entries are found again.
void give_back_caches(std::uint64_t now) {
  if (given_back != 0 && now - given_back < kGiveBackNs) return;
  given_back = now;
  drop_stack_cache();
  drop_unwind_caches();
  drop_definition_cache();
}

void sample_groups(std::uint64_t now, Sample asked) {
  const bool all = close.near || asked == Sample::all || half_is_gone() || ++groups_count >= kMachineEach;
  if (all) groups_count = 0;
  const std::uint64_t left = close.left;
  const bool was_near = close.near;
  level_then = exact_host_level();
  const std::uint64_t before = os::thread_cpu_ns();
  close = sample_now(all ? Depth::all : Depth::groups, close.near);
  groups_cost = mean(groups_cost, os::thread_cpu_ns() - before);
  growth.set_limit(now, close.left, close.limit, resident_now());
  if (close.near && !was_near) give_back_caches(now);
  const bool closer = close.left < left - left / 16;
  until_half = ~std::uint64_t{0};
  if (closer && left != format::kNotSaid) {
    const double pace = static_cast<double>(left - close.left) / static_cast<double>(now - groups_sampled);
    until_half = static_cast<std::uint64_t>(static_cast<double>(close.left) / 2 / pace);
  }
  groups_sampled = now;
  near_gap = closer ? kNearNs : near_gap < kFarNs / 2 ? 2 * near_gap : kFarNs;
}

} // namespace

void sample_first() {
  const std::uint64_t now = os::monotonic_ns();
  __atomic_store_n(&sampled, now, __ATOMIC_RELEASE);
  sample_groups(now, Sample::all);
}

void sample_last() {
  sample_groups(os::monotonic_ns(), Sample::all); // with the machine: a short run has no other sample of it
}

std::uint64_t sample_if_due() {
  const std::uint64_t now = os::monotonic_ns();
  const auto asked = asked_sample();
  const bool groups = groups_are_due(now, asked);
  if (!groups && (asked != Sample::process || now - sampled < asked_gap)) return time_left(now, asked);
  forget_asked_sample();
  __atomic_store_n(&sampled, now, __ATOMIC_RELEASE);
  look_at_rss_if_higher();
  if (groups) {
    sample_groups(now, asked);
  } else {
    const std::uint64_t before = os::thread_cpu_ns();
    sample_now(Depth::process, close.near);
    const std::uint64_t cost = (os::thread_cpu_ns() - before) * kFarShare;
    __atomic_store_n(&asked_gap, larger(kAskedNs, mean(asked_gap, cost)), __ATOMIC_RELAXED);
  }
  return time_left(now, Sample::none);
}

std::uint64_t growth_pause() {
  const std::uint64_t now = os::monotonic_ns(), due = growth.due();
  const bool may = growth_spent <= (now - growth_began) / kGrowthShare + kGrowthNs;
  const std::uint64_t left = now < due ? due - now : 0;
  return may ? left : larger(left, kFarNs);
}

void look_at_growth_if_due() {
  if (growth_began == 0) growth_began = os::monotonic_ns();
  if (growth_pause() != 0) return;
  const std::uint64_t now = os::monotonic_ns(), before = os::thread_cpu_ns();
  const std::uint64_t resident = resident_now();
  growth.look(now, resident);
  look_at_climb(now, resident);
  if (growth.wants_sample()) {
    __atomic_store_n(&sampled, now, __ATOMIC_RELEASE);
    if (groups_are_due(now, Sample::none)) {
      sample_groups(now, Sample::none);
    } else {
      sample_now(Depth::process, close.near);
    }
    growth.sampled();
  }
  growth_spent += os::thread_cpu_ns() - before;
}

void request_sample(std::uint64_t now) {
  ask_for_sample();
  // Small steps have a hundred phases a second: a wake-up for each would cost more than the samples.
  const std::uint64_t last = __atomic_load_n(&sampled, __ATOMIC_ACQUIRE); // may be later than `now`
  const bool due = now > last && now - last >= __atomic_load_n(&asked_gap, __ATOMIC_RELAXED);
  if (due || blocks_may_be_touched(now)) wake_drain();
}

void forget_sampling_times() {
  sampled = groups_sampled = given_back = 0;
  groups_count = 0;
  close = {};
  near_gap = kNearNs;
  until_half = ~std::uint64_t{0};
  level_then = 0;
  growth = {};
  growth_began = growth_spent = 0;
  forget_climb();
}

} // namespace memtrace::record
