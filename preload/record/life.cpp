// Room: record. In the constructor, at the edges of a process's life, and once when recording begins.
// Job: inert, cold, hot; fork, exec and the end.
#include "record/life.h"

#include <sys/mman.h>

#include <cstring>
#include <initializer_list>

#include "record/cold.h"
#include "record/definitions.h"
#include "record/drain.h"
#include "record/environment.h"
#include "record/identity.h"
#include "record/loss.h"
#include "record/map_levels.h"
#include "record/modules.h"
#include "record/os.h"
#include "record/phases.h"
#include "record/place.h"
#include "record/recording.h"
#include "record/ring.h"
#include "record/samples.h"
#include "record/sampling.h"
#include "record/spin_lock.h"
#include "record/stack.h"
#include "record/windows.h"

namespace memtrace::record {

namespace {

constinit Alive unwatched{1, 0, 0};

} // namespace

constinit Alive* alive = &unwatched;

namespace {

constexpr std::uint64_t kQuietAfterFork = 250'000'000; // CPython counts threads once fork has returned
constexpr std::uint64_t kChildAgeNs = 1'000'000'000;
constexpr std::int64_t kChildFlows = 1 << 20;

constinit SpinLock beginning;
constinit Parent parent{};
constinit std::uint64_t born_ns = 0;
constinit Path executable{};
constinit int owner = 0; // pid of the process whose life this is
constinit int exit_code = 0;
constinit bool ring_removed = false; // for an exec

void say(const char* what, const char* path) {
  if (settings.quiet) return;
  static constinit Line<4200> line{}; // not on a stack that may be small; one write, so that lines do not mix
  line.clear();
  line.add("memtrace: ").add(what).add(path).add("\n");
  os::say(line.text(), line.size());
}

// Recording begins inside a malloc, maybe on a thread of 16 KiB of stack: the paths are not on it. One thread
// at a time.
constinit Path stem{};
constinit Path scratch{};

const Path& with(const char* suffix) {
  scratch.clear();
  return scratch.add(stem.text(), stem.size()).add(suffix);
}

// Both files of a process have the same, but for the directory.
void set_stem(const char* directory, std::uint64_t start) {
  stem.clear();
  stem.add(directory).add("/").add(place.host.text()).add("-");
  stem.add(static_cast<std::uint64_t>(os::process_id())).add("-").add(start, 16);
}

bool open_files_in(const char* directory) {
  if (*directory == '\0' || !make_directories(directory)) return false;
  const std::uint64_t start = os::unix_ns();
  set_stem(directory, start);
  const std::uint64_t id = start * 0x9E3779B97F4A7C15u ^ static_cast<std::uint64_t>(os::process_id());
  const bool small = !place.founder && place.rank == ~0u; // workers and children
  if (!create_trace_file(with(".memtrace"), id, small ? settings.max_trace / 8 : settings.max_trace))
    return false;
  // Where it was asked for; else beside the trace; else, for some file systems give no shared mapping, a local
  // place.
  for (const char* at : {place.spool.text(), directory, place.temporary.text()}) {
    if (*at == '\0' || !make_directories(at)) continue;
    set_stem(at, start);
    if (create_ring_file(with(".rings"), id)) return true;
  }
  os::unlink(trace_file.path.text());
  return false;
}

bool open_files() {
  if (open_files_in(place.directory.text())) return true;
  static constinit Path other{};
  other.clear();
  other.add(place.temporary.text()).add("/memtrace-out/").add(place.job.text());
  if (open_files_in(other.text())) {
    say("cannot write in ", place.directory.text());
    place.directory = other;
    return true;
  }
  say("not recording: no trace can be written in ", place.directory.text());
  return false;
}

// Who creates the job's file says the one line.
void announce() {
  scratch.clear();
  const long fd = os::create(scratch.add(place.directory.text()).add("/job").text());
  if (fd < 0) return;
  Line<512> text;
  text.add("job=").add(place.job.text()).add("\nhost=").add(place.host.text()).add("\n");
  os::write_all(fd, text.text(), text.size());
  os::close(fd);
  say("recording to ", place.directory.text());
}

void put(format::EventType type, std::uint8_t kind, std::uint64_t word) {
  format::RingRecord record{};
  record.type = static_cast<std::uint8_t>(type);
  record.kind = kind;
  record.word[0] = word;
  record.stamp = draw_stamp();
  emit(record);
}

// With the process the ring slots go, and what the other threads did since their last record with them.
void put_flows_of_others() {
  const format::SmallTotals flows = take_unpublished_of_others();
  if ((flows.births | flows.deaths) == 0) return;
  format::RingRecord record{};
  record.type = static_cast<std::uint8_t>(format::EventType::counters);
  record.stamp = draw_stamp();
  record.word[0] = flows.allocated;
  record.word[1] = flows.freed;
  record.word[2] = flows.births;
  record.word[3] = flows.deaths;
  emit_bare(record);
}

template <std::size_t N>
void put_note(const Line<N>& text) {
  put(format::EventType::note, 0, static_cast<std::uint32_t>(intern_text(text.text(), text.size())));
}

// The totals lie in the ring file, which goes.
void note_losses() {
  for (std::size_t i = 0; i < format::kLosses; ++i) {
    const std::uint64_t count = lost_so_far(static_cast<format::Loss>(i));
    if (count == 0) continue;
    Line<64> text;
    put_note(text.add("lost.").add(format::kLossNames[i]).add("=").add(count));
  }
}

void note_ring_place() {
  const std::size_t directory = place.directory.size();
  if (std::strncmp(ring_path().text(), place.directory.text(), directory) == 0) return;
  scratch.clear();
  put_note(scratch.add("rings=").add(ring_path().text()));
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

bool mine() {
  return owner == os::process_id();
}

} // namespace

void start_life(bool may_unwind) {
  char path[4096];
  const long bytes = os::read_link("/proc/self/exe", path, sizeof path - 1);
  executable.add(path, bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  const char* const slash = std::strrchr(executable.text(), '/');
  owner = os::process_id();
  os::remember_stderr();
  born_ns = 0;
  find_place(); // an inert process founds its job too, and hands it on
  read_settings(slash != nullptr ? slash + 1 : executable.text());
  if (!settings.active) return;
  find_modules_by(executable.text());
  if (!may_unwind && settings.stacks == Stacks::both) settings.stacks = Stacks::python;
  if (!may_unwind && settings.stacks == Stacks::native) settings.stacks = Stacks::none;
  prepare_stacks();
  raise_alive();
  enter(State::cold);
  if (settings.min_peak != 0) return;
  if (const Recording here; here) begin_recording();
}

bool old_enough_to_record() {
  if (born_ns == 0) return true;
  if (flows_since_fork() >= kChildFlows || os::monotonic_ns() - born_ns >= kChildAgeNs) return true;
  return false;
}

void begin_recording() {
  if (!beginning.try_lock()) return; // another thread is at it
  if (state() == State::cold) {
    if (open_files()) {
      keep_losses_in(ring_header()->lost);
      prepare_identity(parent);
      write_definitions(&put_identity);
      start_windows(parent.pid != 0, parent.live, parent.tensor);
      const bool held = pass_lock.lock(); // what the cold log has is folded first
      enter(State::hot);
      cold_flush();
      if (held) pass_lock.unlock();
      note_ring_place();
      put_inherited_phases();
      announce();
      start_drain();
    } else {
      enter(State::inert);
    }
  }
  beginning.unlock();
}

void before_fork() {
  retire_drain();
  local.holds_definitions = hold_definitions();
  local.fork_stamp = active() ? draw_stamp() : 0;
}

void after_fork_in_parent() {
  if (local.holds_definitions) release_definitions();
  local.holds_definitions = false;
  restart_drain_after(kQuietAfterFork);
}

void after_fork_in_child() {
  if (!active()) return;
  parent = {static_cast<std::uint32_t>(owner), state() == State::hot ? trace_file.trace_id : 0,
            local.fork_stamp, host_level(), tensor_level()};
  owner = os::process_id();
  born_ns = os::monotonic_ns();
  place.founder = false;
  forget_drain();
  forget_samples();
  forget_rings();
  forget_windows();
  keep_losses_in(nullptr);
  cold_forget();
  sampled_forked();
  definitions_forked();
  local.holds_definitions = false;
  map_levels_forked();
  forget_other_threads();
  beginning.reset();
  reset_flows();
  exit_code = 0;
  raise_alive();
  enter(State::cold);
}

void notice_raw_fork() {
  local.fork_stamp = last_stamp;
  after_fork_in_child();
}

void before_single_thread_call() {
  retire_drain();
}
void after_single_thread_call() {
  restart_drain_after(0);
}

bool before_exec(const char* path) {
  if (!active() || !mine() || state() != State::hot) return false;
  const Recording here;
  if (!here) return false;
  drain_rings(true);
  note_losses();
  put(format::EventType::exec, 0, static_cast<std::uint32_t>(intern_text(path, std::strlen(path))));
  put(format::EventType::end, static_cast<std::uint8_t>(format::EndHow::exec), 0);
  retire_drain();
  drain_rings(true);
  ring_removed = rings_are_empty(); // else the disk is slow or full: the ring file keeps what is left
  if (ring_removed) remove_ring_file();
  return true;
}

void after_failed_exec() {
  restart_drain_after(0);
  if (!ring_removed || renew_ring_file()) return;
  say("not recording any more: no ring can be written beside ", trace_file.path.text());
  enter(State::inert);
}

void end_life(int code) {
  if (!active() || !mine()) return;
  if (state() != State::hot) {
    enter(State::inert);
    return;
  }
  {
    const Recording here;
    if (!here) return; // exit from within our own work, in a signal handler: the rings keep everything
    // At the bound a full ring takes nothing more: the last records have room of their own.
    drain_rings(true);
    put_flows_of_others();
    note_losses();
    put(format::EventType::end, static_cast<std::uint8_t>(format::EndHow::exit),
        static_cast<std::uint32_t>(code));
  }
  const bool drain_gone = retire_drain();
  enter(State::inert);
  drain_rings(true);
  close_windows();
  ring_header()->ended = 1;
  if (drain_gone && rings_are_empty()) remove_ring_file();
}

void remember_exit_code(int code) {
  exit_code = code;
}
int remembered_exit_code() {
  return exit_code;
}

} // namespace memtrace::record
