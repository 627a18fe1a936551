// Room: record. On the program's threads, around its calls.
// Job: what the recorder does around a call that changes what the process may do.
#include "record/changes.h"

#include "record/definitions.h"
#include "record/drain.h"
#include "record/life.h"
#include "record/line.h"
#include "record/loss.h"
#include "record/os.h"
#include "record/os_gate.h"
#include "record/place.h"
#include "record/recording.h"
#include "record/ring.h"
#include "record/sample_times.h"
#include "record/trace_file.h"

namespace memtrace::record {

using format::RingRecord;

namespace {

// A server that takes another user's part for each request changes its ids a thousand times a second: a thread
// that began again after each would be started as often.
constexpr std::uint64_t kQuietNs = 10'000'000;

constinit bool shut_out = false;      // of the files, by the credentials
constinit bool sandbox_noted = false; // in the trace

format::TextId intern_key(const char* key) {
  Line<64> text;
  text.add(key).add(draw_stamp());
  return intern_text(text.text(), text.size());
}

void put_note(const Recording& here, format::TextId text) {
  here.mark(format::EventType::note, 0, static_cast<std::uint32_t>(text));
}

// The files are opened by name each time, with the credentials of then.
void look_at_files() {
  const Recording here;
  if (!here || state() != State::hot) return;
  const long fd = os::open_append(trace_file.path.text());
  if (fd >= 0) os::close(fd);
  if ((fd < 0) == shut_out) return;
  shut_out = fd < 0;
  blame_files_on(shut_out ? format::Loss::credentials : format::Loss::disk);
  put_note(here, intern_key(shut_out ? "rings_only=credentials " : "files_again="));
}

// What the rings have is in the file while that can be written.
void empty_rings() {
  const Recording here;
  if (here && state() == State::hot) drain_rings(false);
}

bool is_filter(Change change) {
  return change == Change::filter || change == Change::strict;
}

} // namespace

Changing::Changing(Change change) : change_(change) {
  if (change == Change::none || !active() || os::calls_are_stopped()) return;
  if (const Recording here; here) notice_fork();
  if (!active()) return;
  in_ = is_own_process() ? In::own_process : In::vfork_child;
  if (in_ == In::vfork_child) return;
  const bool ran = drain_is_running();
  hold_drain();
  if (change == Change::privileges && ran) empty_rings();
  if (is_filter(change)) prepare_filter();
}

void Changing::over(bool made) {
  if (in_ == In::vfork_child && made && is_filter(change_)) mark_vfork_child();
  if (in_ != In::own_process) return;
  if (is_filter(change_)) return filter_is_over(made);
  release_drain(change_ == Change::threads ? 0 : kQuietNs);
  look_at_files();
}

// A process too small to leave a file has none to write to later. The job's first one and its ranks are what
// the user wants to see: those leave one now.
void Changing::prepare_filter() {
  if (const Recording here; here) {
    if (state() == State::cold && (place.founder || place.rank != ~0u)) begin_recording();
    if (state() == State::hot) {
      note_ = intern_key("rings_only=sandbox ");
      sample_last();
      drain_rings(false);
    }
  }
  os::stop_calls(change_ == Change::strict ? os::Counter::refused : os::Counter::readable);
}

void Changing::filter_is_over(bool made) {
  if (!made) {
    os::allow_calls();
    release_drain(0);
    return;
  }
  __atomic_store_n(&sandbox_noted, true, __ATOMIC_RELAXED);
  if (state() == State::cold) return enter(State::inert);
  if (const Recording here; here && note_ != format::TextId{0}) put_note(here, note_);
}

// The recorder keeps away from a thread that it is on already.
bool unmark_vfork_child() {
  if (!local.filtered_child) return false;
  local.filtered_child = false;
  local.busy = 0;
  return true;
}
void mark_vfork_child() {
  local.filtered_child = true;
  local.busy = 1;
}

void note_sandbox_found() {
  if (__atomic_exchange_n(&sandbox_noted, true, __ATOMIC_RELAXED) || state() != State::hot) return;
  RingRecord record = record_of(format::EventType::note);
  record.word[0] = static_cast<std::uint32_t>(intern_key("rings_only=sandbox "));
  emit(record);
}

void forget_changes() {
  shut_out = sandbox_noted = false;
  blame_files_on(format::Loss::disk);
}

} // namespace memtrace::record
