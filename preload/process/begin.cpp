// Purpose: from disabled to buffering, and from buffering to recording.
// Runs: at the first event, in a forked child, and once when recording begins.
#include "preload/process/begin.h"

#include <cstring>

#include "preload/allocator/allocator_stats.h"
#include "preload/blocks/recording.h"
#include "preload/bounded/fork_locks.h"
#include "preload/format/phase_events.h"
#include "preload/job/host_quota.h"
#include "preload/job/job_directory.h"
#include "preload/os/clocks.h"
#include "preload/os/files.h"
#include "preload/os/gate/start_page.h"
#include "preload/os/libc/valgrind.h"
#include "preload/os/paths.h"
#include "preload/os/standard_error.h"
#include "preload/os/threads.h"
#include "preload/os/timestamp.h"
#include "preload/process/armed_file.h"
#include "preload/process/open_files.h"
#include "preload/process/own_process.h"
#include "preload/process/process_notes.h"
#include "preload/record/emit.h"
#include "preload/record/interner.h"
#include "preload/record/live_levels.h"
#include "preload/record/stack_capture.h"
#include "preload/record/startup_log.h"
#include "preload/record/thread_entry.h"
#include "preload/record/thread_list.h"
#include "preload/ring/ring.h"
#include "preload/ring/ring_file.h"
#include "preload/rss/inherited_ranges.h"
#include "preload/rss/ledger_handshake.h"
#include "preload/samples/sample_schedule.h"
#include "preload/stack/loaded_modules.h"
#include "preload/state/fork_mark.h"
#include "preload/state/loss_counters.h"
#include "preload/state/new_record.h"
#include "preload/state/pauses.h"
#include "preload/state/read_settings.h"
#include "preload/state/recorder_state.h"
#include "preload/state/settings.h"
#include "preload/state/thread.h"
#include "preload/state/upcalls.h"
#include "preload/trace/trace_windows.h"
#include "preload/trace/writer_segment.h"

namespace memtrace::record {

namespace {

constexpr std::uint64_t kBeginningNs =
    50'000'000; // after this time, new threads do not wait for the start of recording

constinit SpinLock begin_lock;
REGISTER_LOCK(begin_lock, nullptr);
constinit std::uint64_t beginning_ns = 0; // the time when a thread took begin_lock
constexpr unsigned kDevices = 7;          // those with a level
constinit Parent parent{};
constinit std::int64_t devices_before[kDevices] = {};
constinit std::int64_t device_tensors_before[kDevices] = {};
constinit std::int64_t small_before = 0;
constinit Path executable{};
using Start = void (*)();
ON_START_PAGE constinit bool program_is_known = false;
ON_START_PAGE constinit Start start = nullptr; // starts the recorder
constinit Line<512> malloc_object{};           // empty: malloc's blocks pass our hooks

void note_ring_place() {
  if (!rings_are_elsewhere()) return;
  static constinit Line<4200> text{};
  text.clear();
  put_note(text.add("rings=").add(ring_path().text()));
}

// Notes what hides the program's events from memtrace. These events are not losses, because memtrace never saw
// them.
void note_unseen() {
  Line<640> text;
  if (malloc_object.size() != 0) put_note(text.add("malloc=").add(malloc_object.text()));
  text.clear();
  if (under_valgrind) put_note(text.add("valgrind=no drain"));
}

// Notes the boot id, which identifies the kernel log about this process, and the namespace of its pid.
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

// If `only`, heap blocks are counted from now on, not recorded. A forked child has its own quota, so it decides
// again.
void count_only(bool only) {
  settings.counting = only;
  if (only) settings.stacks = Stacks::none;
}

// Records the phases that a forked child inherits.
void put_inherited_phases() {
  const Thread* const thread = this_thread();
  if (thread == nullptr) return;
  for (std::uint32_t i = 0; i < thread->depth && i < kMaxPhases; ++i) {
    format::RingRecord record = record_of(format::PhaseBeginEvent{thread->phases[i], i});
    record.flags = format::kAuto;
    emit(record);
  }
}

// True if this is not a parent, but what an armed process held before it recorded.
bool is_own(const Parent& of) {
  return of.pid == static_cast<std::uint32_t>(os::process_id());
}

// Notes what an armed process held before it recorded, as far as the record `fork` does not have it.
void note_levels_before() {
  if (small_before > 0) {
    Line<64> text;
    put_note(text.add("before.small=").add(static_cast<std::uint64_t>(small_before)));
  }
  for (unsigned device = 0; device < kDevices; ++device) {
    if (devices_before[device] <= 0) continue;
    Line<96> text;
    text.add("before.device=").add(device).add(" ").add(static_cast<std::uint64_t>(devices_before[device]));
    text.add(" ").add(static_cast<std::uint64_t>(device_tensors_before[device]));
    text.add(" ").add(device_reserved_of(device + 1));
    put_note(text);
  }
}

// The first event may be in a signal handler on a stack of 8 KiB, where the kernel's frame takes 3 KiB: a path
// of 4 KiB does not fit there. The first buffer touches no page of its own.
void find_executable() {
  char shorter[256];
  if (const long bytes = os::read_link("/proc/self/exe", shorter, sizeof shorter);
      bytes < long{sizeof shorter}) {
    executable.add(shorter, bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
    return;
  }
  static constinit char longer[4096] = {};
  const long bytes = os::read_link("/proc/self/exe", longer, sizeof longer);
  executable.add(longer, bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
}

} // namespace

bool program_is_selected() {
  if (program_is_known) return settings.active;
  program_is_known = true;
  find_executable();
  const char* const slash = std::strrchr(executable.text(), '/');
  os::remember_stderr();
  read_settings(slash != nullptr ? slash + 1 : executable.text());
  return settings.active;
}

void start_life(bool may_unwind) {
  if (!program_is_selected()) return count_filters(); // it passes its job on
  os::begin_clock();
  take_process();
  set_birth(false);
  find_place();
  if (place.world > 1) is_one_of_ranks();
  find_modules_by(executable.text());
  find_allocator_library();
  if (!may_unwind && settings.stacks == Stacks::both) settings.stacks = Stacks::python;
  if (!may_unwind && settings.stacks == Stacks::native) settings.stacks = Stacks::none;
  prepare_stacks();
  if (settings.armed) {
    settings.armed_stacks = settings.stacks;
    settings.stacks = Stacks::none;
  }
  set_fork_mark();
  enter(State::buffering);
  if (settings.min_peak != 0) return;
  if (const Recording here; here) settings.armed ? look_at_arming() : begin_recording();
}

void wait_for_first_event(void (*to_start)()) {
  start = to_start;
  enter(State::waiting);
}

bool event_is_of_vfork_child() {
  if (!os::shares_memory_of_parent()) return false;
  enter(State::waiting);
  return true;
}

bool begin_life() {
  if (local.filtered_child) return false;
  auto expected = static_cast<std::uint8_t>(State::waiting);
  if (!__atomic_compare_exchange_n(&state_value, &expected, static_cast<std::uint8_t>(State::disabled), false,
                                   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    return expected > static_cast<std::uint8_t>(State::waiting); // another thread was first
  start();
  return has_begun();
}

void malloc_is_elsewhere(const char* object) {
  malloc_object.clear();
  malloc_object.add(object);
}

void begin_recording() {
  if (!begin_lock.try_lock()) return; // another thread is doing it
  __atomic_store_n(&beginning_ns, os::monotonic_ns(), __ATOMIC_RELAXED);
  if (state() == State::buffering) {
    if (open_files()) {
      answer_call(true, trace_file.path);
      keep_losses_in(ring_header());
      keep_pauses_in(ring_header());
      note_beginning();
      count_only(quota().detail == Detail::counts);
      write_writer_segment();
      prepare_identity(parent);
      write_definitions(&put_identity);
      start_windows(parent.pid != 0, parent.live, parent.tensor, &copy_text, &has_ring);
      set_uncounted_bounds();
      const bool held = pass_lock.lock(); // the rollup gets the startup log first
      enter(State::recording);
      flush_startup_log();
      if (held) pass_lock.unlock();
      set_uncounted_bounds(); // again: threads began meanwhile, or were looked at
      if (settings.counting) put_flows_of_others();
      note_ring_place();
      note_kernel();
      note_ancestors();
      note_grid();
      note_quota();
      note_unseen();
      put_inherited_phases();
      announce();
      note_levels_before();
      if (parent.pid != 0 && !is_own(parent)) {
        note_inherited();
        call_for_ledger(); // the inherited free memory is known best before it changes
      }
      sample_first();
      start_drain();
    } else {
      answer_call(false, trace_file.path);
      enter(State::disabled);
    }
  }
  begin_lock.unlock();
}

void wait_for_beginning() {
  if (!begin_lock.is_held()) return;
  const std::uint64_t passed = os::monotonic_ns() - __atomic_load_n(&beginning_ns, __ATOMIC_RELAXED);
  if (passed < kBeginningNs && begin_lock.lock_within(kBeginningNs - passed)) begin_lock.unlock();
}

void begin_from_level(std::int64_t live, std::int64_t small, std::int64_t tensor) {
  small_before = small;
  for (unsigned device = 0; device < kDevices; ++device) {
    devices_before[device] = level_of(device + 1);
    device_tensors_before[device] = device_tensor_level_of(device + 1);
  }
  if (parent.pid == 0) parent = {static_cast<std::uint32_t>(os::process_id()), 0, draw_stamp(), 0, 0};
  parent.live = live;
  parent.tensor = tensor;
}

void forget_beginning(const Parent& of) {
  parent = of;
}

} // namespace memtrace::record
