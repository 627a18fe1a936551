// Purpose: the background thread, which writes the rings as segments and takes the samples.
// Runs: on the background thread, all signals blocked, unknown to glibc.
#include "preload/drain/drain_thread.h"

#include "preload/bounded/fork_locks.h"
#include "preload/copies/shared_copies.h"
#include "preload/drain/disk_sync.h"
#include "preload/drain/tls_stand_in.h"
#include "preload/job/job_directory.h"
#include "preload/kernel/thread_privileges.h"
#include "preload/os/clocks.h"
#include "preload/os/libc/valgrind.h"
#include "preload/os/mappings.h"
#include "preload/os/sandbox.h"
#include "preload/os/threads.h"
#include "preload/ring/ring.h"
#include "preload/ring/shut_files.h"
#include "preload/rss/ledger_schedule.h"
#include "preload/samples/block_residency.h"
#include "preload/samples/pss_samples.h"
#include "preload/samples/sample_schedule.h"
#include "preload/state/arming.h"
#include "preload/state/doorbell.h"
#include "preload/state/recorder_state.h"
#include "preload/state/upcalls.h"
#include "preload/trace/trace_file.h"
#include "preload/trace/trace_windows.h"

namespace memtrace::record {
namespace {

constexpr std::size_t kStackBytes = 128 * 1024;
constexpr std::uint64_t kPeriodNs = 250'000'000; // events reach the file within two periods

constinit SpinLock drain_lock;
REGISTER_LOCK(drain_lock, nullptr);
constinit bool stop = false;
constinit bool wanted = false;                         // the thread should run
constinit bool only_copies = false;                    // recording has ended, but local files are left
constinit std::uint32_t holds = 0;                     // calls in progress that need the thread stopped
constinit rollup::StepId first_step = rollup::kNoStep; // of the recording, if `memtrace arm --steps` began it
constinit char* memory = nullptr;                      // the stack, and the stand-in for TLS

// Sleeps until a pass is wanted that was not `heard`, or for `pause` ns. Peaks of RSS are shorter than that, so
// RSS is read in between, without a drain pass. When each rise of `live` made a pass, an import made 230 passes
// instead of 50.
void sleep_until_wanted(std::uint32_t heard, std::uint64_t pause) {
  const std::uint64_t until = os::monotonic_ns() + pause;
  for (std::uint64_t now; (now = os::monotonic_ns()) < until;) {
    const std::uint32_t rung = __atomic_load_n(&bell, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&passes_wanted, __ATOMIC_ACQUIRE) != heard) return;
    std::uint64_t look = ledger_pause();
    if (const std::uint64_t growth = growth_pause(); growth < look) look = growth;
    os::futex_wait(&bell, rung, look < until - now ? look : until - now);
    look_at_growth_if_due();
    ledger_turn();
  }
}

// Detects system calls that the program makes without libraries, which no hook sees. After such a call, the
// background thread would keep privileges that the program has dropped, or keep an ended process alive.
class Likeness {
 public:
  // True if the thread has the privileges of the program's first thread, or if that is not known.
  bool holds() {
    const std::uint64_t now = os::monotonic_ns();
    if (now - looked_ < kBetweenLooksNs) return true;
    looked_ = now;
    if (!own_.known) own_ = privileges_of(os::thread_id());
    first_ = privileges_of(os::process_id());
    return !own_.known || !first_.known || (own_.credentials == first_.credentials && !has_more_filters());
  }
  // True if the background thread is the last one: all threads of the program ended by a raw exit, as the child
  // of a plain clone() does. The process would stay for ever, and its parent would wait.
  bool program_has_ended() const { return first_.ended && first_.threads <= 2; }
  bool has_more_filters() const { return first_.strict || first_.filters > own_.filters; }
  bool first_is_strict() const { return first_.strict; }

 private:
  static constexpr std::uint64_t kBetweenLooksNs = 100'000'000;
  ThreadPrivileges own_{}, first_{};
  std::uint64_t looked_ = 0;
};

// The pause before a restart. The thread has the privileges of the thread that started it, which may not be the
// first one.
constexpr std::uint64_t kUnlikeNs = 1'000'000'000;

int end_for_unlikeness(const Likeness& likeness) {
  if (likeness.has_more_filters()) {
    os::stop_calls(likeness.first_is_strict() ? os::Counter::refused : os::Counter::readable);
    shut_files(format::Loss::sandbox);
    return 0;
  }
  set_drain_due(os::monotonic_ns() + kUnlikeNs);
  return 0;
}

// Counts whole steps: the first one began before the recording. A step that ends between two passes is seen
// with the later one, so a few more may be recorded. If the first optimizer's step shows that forwards do not
// count, the present step goes back (OpenPhases::learn). Then counting begins anew: the difference to the first
// step was below 0 once, which as an unsigned number ended a recording at once.
void look_at_steps() {
  if (steps_wanted == 0) return;
  const Locked locked(pass_lock);
  const rollup::StepId now = folded.step();
  if (!locked || now == rollup::kNoStep) return;
  if (first_step == rollup::kNoStep || now < first_step) first_step = now;
  if (now - first_step > steps_wanted) __atomic_store_n(&stop_is_due, true, __ATOMIC_RELAXED);
}

bool goes_on() {
  return !__atomic_load_n(&stop, __ATOMIC_ACQUIRE);
}

// Returns the exit status for the process if this thread outlives the program's threads.
int run(void*) {
  os::close_all_of_this_thread();
  Likeness likeness;
  while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
    if (!likeness.holds()) return end_for_unlikeness(likeness);
    const std::uint32_t heard = __atomic_load_n(&passes_wanted, __ATOMIC_ACQUIRE);
    ledger_turn(); // first: a paused thread of the program may wait for it
    drain_rings(false);
    look_at_steps();
    if (likeness.program_has_ended()) return exit_status_of(os::process_id());
    look_at_blocks_if_due();
    const std::uint64_t pause = sample_if_due();
    sample_share_if_due();
    sync_if_due();
    if (copy_is_urgent()) drain_rings(false);
    const bool may_sleep = copy_if_due(&goes_on);
    if (copies_have_failed()) set_drain_due(os::monotonic_ns()); // an event of the program then prints it
    sleep_until_wanted(heard, !may_sleep ? 0 : pause < kPeriodNs ? pause : kPeriodNs);
  }
  take_last_ledger_if_asked();
  leave_ledger();
  return 0;
}

bool hangs() {
  return disk_is_slow() || copy_hangs();
}

constexpr std::uint64_t kCopyNs = 1'000'000'000;    // without progress, at the end of the process
constexpr std::uint64_t kCopiesNs = 10'000'000'000; // in all
constexpr std::uint64_t kCopyLookNs = 1'000'000;
constexpr std::uint64_t kRetryNs = 30'000'000'000; // after an error of the shared file system

// If a fork ends it, or an error, a later call of start_drain() continues the copy.
int run_last_copy(void*) {
  os::close_all_of_this_thread();
  const bool done = copy_last(&goes_on);
  if (done) __atomic_store_n(&only_copies, false, __ATOMIC_RELEASE);
  if (!done && goes_on()) set_drain_due(os::monotonic_ns() + kRetryNs);
  return exit_status_of(os::process_id());
}

// Drain lock held.
void start(int (*body)(void*)) {
  void* const tls = make_tls_stand_in(memory + kStackBytes);
  __atomic_store_n(&stop, false, __ATOMIC_RELEASE);
  os::start_thread(body, nullptr, memory, kStackBytes, tls, &drain_tid);
}

} // namespace

void start_drain() {
  if (under_valgrind) return; // it refuses the clone and ends the process
  const bool copies = __atomic_load_n(&only_copies, __ATOMIC_ACQUIRE);
  if (!copies && state() != State::recording) return set_drain_due(0);
  say_of_failed_copies();
  if (!drain_lock.try_lock()) return; // another thread starts or stops it
  wanted = true;
  set_drain_due(0);
  if (holds != 0) {
    // release_drain() restarts it.
  } else if (!drain_is_running()) {
    if (memory == nullptr) memory = static_cast<char*>(os::map_private(kStackBytes + tls_stand_in_bytes()));
    if (memory != nullptr) start(copies ? &run_last_copy : &run);
  } else if (__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
    // The old thread must end, but is in a slow write: try again later.
    set_drain_due(os::monotonic_ns() + kPeriodNs);
  }
  drain_lock.unlock();
}

namespace {

// Waits for the end of the background thread, but not long: other conditions may change, too. The kernel wakes
// the waiter when it clears the word. While the thread read the pages of a loader, a fork that yielded the CPU
// in a loop spent 7 ms.
void await_change_of_drain() {
  constexpr std::uint64_t kMostNs = 1'000'000;
  const std::uint32_t running = __atomic_load_n(&drain_tid, __ATOMIC_ACQUIRE);
  if (running != 0)
    os::futex_wait(&drain_tid, running, kMostNs);
  else
    os::yield();
}

bool retire_within(std::uint64_t patience_ns) {
  const std::uint32_t id = __atomic_load_n(&drain_tid, __ATOMIC_ACQUIRE);
  if (id == 0) return true;
  const std::uint64_t until = os::monotonic_ns() + patience_ns;
  // The kernel clears the word before it lowers its count of threads, so wait for both.
  while (drain_is_running() || os::thread_exists(static_cast<int>(id))) {
    if (os::monotonic_ns() > until) return false;
    // Set in each round: another thread that forks may have started a new drain, which cleared it.
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
    wake_drain();
    await_change_of_drain();
  }
  return true;
}

} // namespace

void copy_at_end(bool wait) {
  if (place.shared.size() == 0 || memory == nullptr) return;
  __atomic_store_n(&only_copies, true, __ATOMIC_RELEASE);
  set_drain_due(os::monotonic_ns() + kPeriodNs); // if the old thread is in a slow write
  if (!drain_lock.try_lock()) return;
  const std::uint64_t began = os::monotonic_ns();
  if (holds == 0 && !drain_is_running()) start(&run_last_copy);
  drain_lock.unlock();
  while (wait && drain_is_running()) {
    const std::uint64_t now = os::monotonic_ns(), moved = last_progress() > began ? last_progress() : began;
    if (now > began + kCopiesNs || now > moved + kCopyNs) break;
    os::sleep_ns(kCopyLookNs);
  }
  if (wait) say_of_failed_copies();
}

bool retire_drain() {
  // Each fork would wait this long for a disk that hangs.
  return retire_within(hangs() ? 20'000'000 : 500'000'000);
}

bool hold_drain() {
  // Takes the lock, so that a thread that is being started is seen.
  const bool locked = drain_lock.lock();
  __atomic_fetch_add(&holds, 1u, __ATOMIC_ACQ_REL);
  if (locked) drain_lock.unlock();
  // A signal handler may have interrupted the holder of a lock that the thread waits for, for a second at most.
  return retire_within(hangs() ? 20'000'000 : 2'000'000'000);
}

void release_drain(std::uint64_t quiet_ns) {
  __atomic_fetch_sub(&holds, 1u, __ATOMIC_ACQ_REL);
  restart_drain_after(quiet_ns);
}

void restart_drain_after(std::uint64_t quiet_ns) {
  if (wanted) set_drain_due(os::monotonic_ns() + quiet_ns);
}

void finish_copies() {
  if (__atomic_load_n(&only_copies, __ATOMIC_ACQUIRE)) copy_at_end(true);
}

void forget_thread() {
  drain_tid = 0;
  if (!wanted) return; // a write would make the kernel copy the page
  wanted = only_copies = false;
  holds = 0;
  set_drain_due(0);
  forget_copies();
}

void forget_drain() {
  forget_thread();
  holds = 0;
  first_step = rollup::kNoStep;
  forget_asked_sample();
  forget_sampling_times();
  forget_ledgers();
  forget_shares();
  forget_touched();
  forget_syncs();
}

} // namespace memtrace::record
