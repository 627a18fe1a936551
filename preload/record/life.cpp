// Room: record. In the constructor, at the edges of a process's life, and once when recording begins.
// Job: inert, cold, hot; fork, exec and the end.
#include "preload/record/life.h"

#include <signal.h>
#include <sys/mman.h>

#include <cstring>

#include "preload/record/allocator.h"
#include "preload/record/bound.h"
#include "preload/record/changes.h"
#include "preload/record/cold.h"
#include "preload/record/definitions.h"
#include "preload/record/device_memory.h"
#include "preload/record/drain.h"
#include "preload/record/environment.h"
#include "preload/record/files.h"
#include "preload/record/frame_rules.h"
#include "preload/record/identity.h"
#include "preload/record/inherited.h"
#include "preload/record/ledger_moment.h"
#include "preload/record/ledger_times.h"
#include "preload/record/loss.h"
#include "preload/record/map_levels.h"
#include "preload/record/memory_locks.h"
#include "preload/record/modules.h"
#include "preload/record/os.h"
#include "preload/record/os_gate.h"
#include "preload/record/own_ranges.h"
#include "preload/record/phases.h"
#include "preload/record/place.h"
#include "preload/record/recording.h"
#include "preload/record/ring.h"
#include "preload/record/sample_times.h"
#include "preload/record/samples.h"
#include "preload/record/sampling.h"
#include "preload/record/shares.h"
#include "preload/record/spin_lock.h"
#include "preload/record/stack.h"
#include "preload/record/talk.h"
#include "preload/record/trace_file.h"
#include "preload/record/valgrind.h"
#include "preload/record/windows.h"

namespace memtrace::record {

namespace {

constinit Alive unwatched{1, 0, 0};

} // namespace

constinit Alive* alive = &unwatched;

namespace {

constexpr std::uint64_t kQuietAfterFork = 250'000'000; // CPython counts threads once fork has returned
constexpr std::uint64_t kChildAgeNs = 1'000'000'000;
constexpr std::int64_t kChildFlows = 1 << 20;
constexpr std::uint64_t kBeginningNs =
    50'000'000; // so long after recording began to begin, new threads do not wait for it

constinit SpinLock beginning;
constinit std::uint64_t beginning_ns = 0; // when a thread took that lock
constinit Parent parent{};
constinit std::uint64_t born_ns = 0;
constinit Path executable{};
constinit int owner = 0; // pid of the process whose life this is
constinit int exit_code = 0;
constinit SpinLock exec_lock;        // held from before an exec until it has failed
constinit bool ring_removed = false; // for that exec
constinit Line<512> malloc_object{}; // empty: its blocks pass our hooks

bool put(format::EventType type, std::uint8_t kind, std::uint64_t word) {
  format::RingRecord record{};
  record.type = static_cast<std::uint8_t>(type);
  record.kind = kind;
  record.word[0] = word;
  record.stamp = draw_stamp();
  return emit(record);
}

// With the process the ring slots go, and what the other threads did since their last record with them.
void put_flows_of_others() {
  format::SmallTotals flows = take_unpublished_of_others();
  add(flows, take_slotless_flows());
  if (is_zero(flows)) return;
  format::RingRecord record = counters_of(flows, draw_stamp());
  emit_bare(record);
}

template <std::size_t N>
void put_note(const Line<N>& text) {
  put(format::EventType::note, 0, static_cast<std::uint32_t>(intern_text(text.text(), text.size())));
}

// "lost.births=EVENTS BYTES UNCOUNTED TENSOR", and the same of deaths: see LostBlocks.
void note_lost_blocks() {
  const format::LostBlocks lost = lost_blocks_so_far();
  if ((lost.births | lost.deaths) == 0) return;
  Line<160> text;
  const auto put_sums = [&text](std::uint64_t events, std::uint64_t bytes, std::uint64_t uncounted,
                                std::uint64_t tensor) {
    put_note(text.add(events).add(" ").add(bytes).add(" ").add(uncounted).add(" ").add(tensor));
    text.clear();
  };
  text.add("lost.births=");
  put_sums(lost.births, lost.birth_bytes, lost.uncounted_birth_bytes, lost.tensor_birth_bytes);
  text.add("lost.deaths=");
  put_sums(lost.deaths, lost.death_bytes, lost.uncounted_death_bytes, lost.tensor_death_bytes);
}

// These lie in the ring file, which goes.
void note_losses() {
  for (std::size_t i = 0; i < format::kLosses; ++i) {
    const std::uint64_t count = lost_so_far(static_cast<format::Loss>(i));
    if (count == 0) continue;
    Line<64> text;
    put_note(text.add("lost.").add(format::kLossNames[i]).add("=").add(count));
  }
  note_lost_blocks();
}
void note_own_memory() {
  Line<64> text;
  put_note(text.add("own=").add(ring_header()->own_bytes));
}

void note_ring_place() {
  if (!rings_are_elsewhere()) return;
  static constinit Line<4200> text{};
  text.clear();
  put_note(text.add("rings=").add(ring_path().text()));
}

// A later record of its thread tells that an exec failed, also if the process is killed before it allocates.
void note_failed_exec() {
  const Recording here;
  if (!here) return;
  Line<16> text;
  put_note(text.add("exec=failed"));
}

// MEMTRACE_MAX_NODE left less than was asked for.
void note_share() {
  if (share().detail == Detail::full && !bound_became_known()) return;
  Line<64> text;
  put_note(
      text.add(share().detail == Detail::counts ? "bound=counts " : "bound=node ").add(trace_file.max_bytes));
}

// What stands between the program and us: nothing of it is a loss, for it was never there to be recorded.
void note_unseen() {
  Line<640> text;
  if (malloc_object.size() != 0) put_note(text.add("malloc=").add(malloc_object.text()));
  text.clear();
  if (under_valgrind) put_note(text.add("valgrind=no drain"));
}

// Whose log tells of this process, and in which namespace its pid is one.
void note_kernel() {
  char text[64];
  const long file = os::open_kernel("/proc/sys/kernel/random/boot_id");
  const long bytes = file < 0 ? file : os::read_all(file, text, sizeof text);
  if (file >= 0) os::close(file);
  Line<128> boot;
  if (bytes > 1) put_note(boot.add("boot=").add(text, static_cast<std::size_t>(bytes) - 1));
  const long link = os::read_link("/proc/self/ns/pid", text, sizeof text); // "pid:[4026531836]"
  Line<64> pids;
  if (link > 6) put_note(pids.add("pids=").add(text + 5, static_cast<std::size_t>(link) - 6));
}

// Heap blocks are counted from now on, not recorded. A forked child has a share of its own.
void count_only(bool only) {
  settings.counting = only;
  if (only) settings.stacks = Stacks::none;
}

// A marker that fork wipes: a hook that reads zero is in a child, also of a raw clone.
void raise_alive() {
  alive = &unwatched; // not the page that is wiped
  auto* const page = static_cast<Alive*>(os::map_private(format::kPage));
  if (page == nullptr) return;
  page->here = 1;
  if (os::advise(page, format::kPage, MADV_WIPEONFORK) < 0) return;
  alive = page;
}

} // namespace

bool is_own_process() {
  return !local.filtered_child && owner == os::process_id();
}

void start_life(bool may_unwind) {
  char path[4096];
  const long bytes = os::read_link("/proc/self/exe", path, sizeof path - 1);
  executable.add(path, bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  const char* const slash = std::strrchr(executable.text(), '/');
  os::begin_clock();
  owner = os::process_id();
  os::remember_stderr();
  born_ns = 0;
  find_place(); // an inert process founds its job too, and hands it on
  read_settings(slash != nullptr ? slash + 1 : executable.text());
  if (!settings.active) return;
  find_modules_by(executable.text());
  find_allocator_library();
  if (!may_unwind && settings.stacks == Stacks::both) settings.stacks = Stacks::python;
  if (!may_unwind && settings.stacks == Stacks::native) settings.stacks = Stacks::none;
  prepare_stacks();
  raise_alive();
  enter(State::cold);
  if (settings.min_peak != 0) return;
  if (const Recording here; here) begin_recording();
}

void malloc_is_elsewhere(const char* object) {
  malloc_object.clear();
  malloc_object.add(object);
}

bool old_enough_to_record() {
  if (born_ns == 0) return true;
  if (flows_since_fork() >= kChildFlows || os::monotonic_ns() - born_ns >= kChildAgeNs) return true;
  return false;
}

void begin_recording() {
  if (!beginning.try_lock()) return; // another thread is at it
  __atomic_store_n(&beginning_ns, os::monotonic_ns(), __ATOMIC_RELAXED);
  if (state() == State::cold) {
    if (open_files()) {
      keep_losses_in(ring_header());
      note_beginning();
      count_only(share().detail == Detail::counts);
      prepare_identity(parent);
      write_definitions(&put_identity);
      start_windows(parent.pid != 0, parent.live, parent.tensor);
      set_uncounted_bounds();
      const bool held = pass_lock.lock(); // what the cold log has is folded first
      enter(State::hot);
      cold_flush();
      if (held) pass_lock.unlock();
      set_uncounted_bounds(); // again: threads began meanwhile, or were looked at
      if (settings.counting) put_flows_of_others();
      note_ring_place();
      note_kernel();
      note_share();
      note_unseen();
      put_inherited_phases();
      announce();
      if (parent.pid != 0) {
        note_inherited();
        call_for_ledger(); // what its allocator has of its parent is known best before more comes
      }
      sample_first();
      start_drain();
    } else {
      enter(State::inert);
    }
  }
  beginning.unlock();
}

void wait_for_beginning() {
  if (!beginning.is_held()) return;
  const std::uint64_t passed = os::monotonic_ns() - __atomic_load_n(&beginning_ns, __ATOMIC_RELAXED);
  if (passed < kBeginningNs && beginning.lock_within(kBeginningNs - passed)) beginning.unlock();
}

void before_fork() {
  const Unjudged unjudged;
  retire_drain();
  local.holds_definitions = active() && hold_definitions();
  local.fork_stamp = active() ? draw_stamp() : 0;
}

void after_fork_in_parent() {
  const Unjudged unjudged;
  family_began();
  if (local.holds_definitions) release_definitions();
  local.holds_definitions = false;
  restart_drain_after(kQuietAfterFork);
}

namespace {

// `raw`: by a system call of the program's, without handlers.
void begin_as_child(bool raw) {
  if (os::calls_are_stopped()) return enter(State::inert); // its parent's filter is its own
  parent = {static_cast<std::uint32_t>(owner), state() == State::hot ? trace_file.trace_id : 0,
            local.fork_stamp, host_level(), tensor_level()};
  owner = os::process_id();
  born_ns = os::monotonic_ns();
  place.founder = false;
  os::forget_calls();
  forget_changes();
  forget_own_of_parent();
  forget_drain();
  forget_ledger_moments(raw);
  forget_samples();
  forget_rings();
  forget_windows();
  forget_bound();
  keep_losses_in(nullptr);
  cold_forget();
  sampled_forked();
  definitions_forked();
  frame_rules_forked();
  local.holds_definitions = false;
  map_levels_forked();
  memory_locks_forked();
  device_memory_forked();
  talk_forked();
  look_often_without_slot(is_large_enough());
  beginning.reset();
  exec_lock.reset();
  forget_other_threads();
  reset_flows();
  exit_code = 0;
  settings.counting = false;
  raise_alive();
  enter(State::cold);
}

} // namespace

// A lock that an inert child kept would hold up each fork of its own for a second: in bash, which is not
// recorded, a subshell within a subshell did.
void after_fork_in_child() {
  const Unjudged unjudged;
  if (active()) begin_as_child(false);
  if (local.holds_definitions) release_definitions();
  local.holds_definitions = false;
}

void notice_raw_fork() {
  local.fork_stamp = last_stamp;
  if (active()) begin_as_child(true);
}

void before_thread_exit() {
  if (!active() || !is_own_process()) return;
  retire_drain();
  restart_drain_after(0); // by a thread that is left
}

bool before_exec(const char* path) {
  if (!active() || !is_own_process() || state() != State::hot) return false;
  const Recording here;
  if (!here || !exec_lock.lock()) return false;
  ring_removed = false;
  drain_rings(true);
  open_reserve();
  note_losses();
  note_own_memory();
  put(format::EventType::exec, 0, static_cast<std::uint32_t>(intern_text(path, std::strlen(path))));
  const bool said = put(format::EventType::end, static_cast<std::uint8_t>(format::EndHow::exec), 0);
  if (os::calls_are_stopped()) return true; // the ring file keeps it all
  retire_drain();
  drain_rings(true);
  ring_removed = said && rings_are_empty(); // else the disk is slow or full: the ring file keeps what is left
  if (ring_removed) remove_ring_file();
  return true;
}

void after_failed_exec() {
  const bool has_rings = !ring_removed || renew_ring_file();
  exec_lock.unlock();
  restart_drain_after(0);
  if (has_rings) {
    note_failed_exec();
    return;
  }
  say({"not recording any more: no ring can be written in the place of ", ring_path().text()});
  enter(State::inert);
}

void end_life(int code) {
  const Unjudged unjudged;
  if (!active() || !is_own_process()) return;
  if (state() != State::hot) {
    enter(State::inert);
    return;
  }
  bool said = false; // the end record is in a ring
  {
    const Recording here;
    if (!here) return; // exit from within our own work, in a signal handler: the rings keep everything
    look_at_files(here);
    // At the bound a full ring takes nothing more: the last records have room of their own.
    drain_rings(true);
    open_reserve();
    put_flows_of_others();
    if (share().detail == Detail::full) note_share();
    note_losses();
    note_own_memory();
    said = put(format::EventType::end, static_cast<std::uint8_t>(format::EndHow::exit),
               static_cast<std::uint32_t>(code));
    if (code != 0) note_giving_up();
  }
  if (os::calls_are_stopped()) { // the ring file keeps it all
    enter(State::inert);
    ring_header()->ended = 1;
    return;
  }
  answer_at_end();
  ask_for_last_ledger();
  const bool drain_gone = retire_drain();
  if (drain_gone) sample_last();
  if (drain_gone) sample_last_share();
  enter(State::inert);
  drain_rings(true);
  close_windows();
  // Without the end record in the trace, the ring file stays: it has what was lost.
  if (said) ring_header()->ended = 1;
  if (said && drain_gone && rings_are_empty()) remove_ring_file();
}

// The process may go on, by a handler that jumps: then this thread has later records, and the end was none.
void note_abort() {
  if (!active() || !is_own_process() || state() != State::hot) return;
  const Recording here;
  if (!here) return;
  put(format::EventType::end, static_cast<std::uint8_t>(format::EndHow::signal), SIGABRT);
  ring_header()->ended = 2;
  note_giving_up();
}

void remember_exit_code(int code) {
  exit_code = code;
}
int remembered_exit_code() {
  return exit_code;
}

} // namespace memtrace::record
