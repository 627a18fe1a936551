// Purpose: the marks of phases and steps that the hooks make (Python, C, NVTX).
// Runs: on the program's thread, outside malloc.
#include "preload/marks/phase_marks.h"

#include <cstring>
#include <initializer_list>

#include "preload/blocks/recording.h"
#include "preload/format/phase_events.h"
#include "preload/marks/mark_text.h"
#include "preload/record/interner.h"
#include "preload/record/thread_entry.h"
#include "preload/rss/ledger_handshake.h"
#include "preload/samples/sample_schedule.h"
#include "preload/state/arming.h"
#include "preload/state/doorbell.h"
#include "preload/state/fork_mark.h"
#include "preload/state/recorder_state.h"
#include "preload/state/safe_point.h"
#include "preload/state/thread.h"
#include "preload/state/upcalls.h"
#include "preload/trace/write_allowance.h"

namespace memtrace::record {

using format::TextId;

namespace {

static_assert(kMaxPhases <= 8 * sizeof Thread::automatic);

bool is_automatic(const Thread& thread, std::uint32_t index) {
  return (thread.automatic >> index & 1u) != 0;
}

// Returns the depth of the innermost open phase of that name that memtrace began, or that the program began.
// The first depth is 1. Returns 0 if there is none.
std::uint32_t depth_of(const Thread& thread, TextId name, bool automatic) {
  std::uint32_t depth = thread.depth;
  while (depth > 0 && (thread.phases[depth - 1] != name || is_automatic(thread, depth - 1) != automatic))
    --depth;
  return depth;
}

// These return the stamp of the last record.
format::Stamp put_begin(const Recording& here, Thread& thread, TextId name, std::uint16_t flags) {
  const format::Stamp stamp = here.mark(format::PhaseBeginEvent{name, thread.depth}, flags);
  const std::uint32_t bit = 1u << thread.depth;
  thread.automatic = (flags & format::kAuto) != 0 ? thread.automatic | bit : thread.automatic & ~bit;
  thread.phases[thread.depth++] = name;
  return stamp;
}

format::Stamp put_end_of_innermost(const Recording& here, Thread& thread, std::uint16_t flags) {
  --thread.depth;
  return here.mark(format::PhaseEndEvent{thread.phases[thread.depth], thread.depth}, flags);
}

// Ends the phase at `index`. The phases inside it end first, and begin again. So the trace is nested, although
// a phase of the program may begin in `load` or `loss` and end after it, or the other way round.
format::Stamp put_end(const Recording& here, Thread& thread, std::uint32_t index, std::uint16_t flags) {
  TextId inner[kMaxPhases];
  std::uint16_t inner_flags[kMaxPhases];
  const std::uint32_t count = thread.depth - index - 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    inner[i] = thread.phases[index + 1 + i];
    inner_flags[i] = is_automatic(thread, index + 1 + i) ? std::uint16_t{format::kAuto} : std::uint16_t{0};
  }
  for (std::uint32_t i = 0; i < count; ++i) put_end_of_innermost(here, thread, 0);
  format::Stamp last = put_end_of_innermost(here, thread, flags);
  for (std::uint32_t i = 0; i < count; ++i) last = put_begin(here, thread, inner[i], inner_flags[i]);
  return last;
}

bool is_training(const char* name, std::size_t bytes) {
  for (const char* phase : {"forward", "backward", "step"})
    if (bytes == std::strlen(phase) && std::memcmp(name, phase, bytes) == 0) return true;
  return false;
}

// Begins to record, because a process with a mark must leave a trace.
void begin_if_cold() {
  if (state() != State::buffering) return;
  is_armed() ? look_at_arming() : begin_recording();
}

void mark_begin(const char* name, std::size_t bytes, std::uint16_t flags) {
  const Recording here;
  if (!here) return;
  notice_fork();
  if ((flags & format::kAuto) != 0 && is_training(name, bytes)) becomes_trainer();
  begin_if_cold();
  Thread* const thread = this_thread();
  if (thread == nullptr) return;
  if (thread->depth >= kMaxPhases) { // the list is full: its end could not be matched
    ++thread->depth;
    return;
  }
  request_sample(put_begin(here, *thread, mark_text(name, bytes), flags));
}

void mark_end(const char* name, std::size_t bytes, std::uint16_t flags) {
  const Recording here;
  if (!here) return;
  notice_fork();
  Thread* const thread = this_thread();
  if (thread == nullptr) return;
  if (thread->depth > kMaxPhases) {
    --thread->depth;
    return;
  }
  const std::uint32_t depth = depth_of(*thread, mark_text(name, bytes), (flags & format::kAuto) != 0);
  if (depth == 0) return;
  request_sample(put_end(here, *thread, depth - 1, flags));
}

// Ends the innermost phase that the program began.
void mark_end_of_own() {
  const Recording here;
  if (!here) return;
  notice_fork();
  Thread* const thread = this_thread();
  if (thread == nullptr || thread->depth > kMaxPhases) return;
  std::uint32_t depth = thread->depth;
  while (depth > 0 && is_automatic(*thread, depth - 1)) --depth;
  if (depth == 0) return;
  request_sample(put_end(here, *thread, depth - 1, 0));
}

// The end waits for the drain, so it is outside of each hook. After the end no event is recorded, so a copy
// that a fork ended continues here.
void stop_if_due() {
  if (__atomic_load_n(&stop_is_due, __ATOMIC_RELAXED)) [[unlikely]]
    stop_recording();
  keep_drain_running();
}

} // namespace

void phase_begin(const char* name, std::size_t bytes, std::uint16_t flags) {
  stop_if_due();
  mark_begin(name, bytes, flags);
  reach_safe_point();
  offer_ledger_turn();
}

void phase_end(const char* name, std::size_t bytes, std::uint16_t flags) {
  mark_end(name, bytes, flags);
  reach_safe_point();
  offer_ledger_turn();
}

void phase_end_marked() {
  Thread* const thread = local.thread;
  if (thread == nullptr || thread->depth == 0) return;
  if (thread->depth > kMaxPhases) {
    --thread->depth;
    return;
  }
  mark_end_of_own();
  reach_safe_point();
  offer_ledger_turn();
}

std::size_t phase_current(char* out, std::size_t capacity) {
  const Thread* const thread = local.thread;
  if (thread == nullptr || thread->depth == 0 || thread->depth > kMaxPhases) return 0;
  return copy_text(thread->phases[thread->depth - 1], out, capacity);
}

bool phase_inside(const char* name, std::size_t bytes) {
  const Thread* const thread = local.thread;
  if (thread == nullptr || thread->depth == 0) return false;
  char text[kMaxMarkText];
  for (std::uint32_t i = 0; i < thread->depth && i < kMaxPhases; ++i) {
    const std::size_t have = copy_text(thread->phases[i], text, sizeof text);
    if (have == bytes && std::memcmp(text, name, bytes) == 0) return true;
  }
  return false;
}

void step_begin(std::uint64_t number) {
  stop_if_due();
  const Recording here;
  if (!here) return;
  begin_if_cold();
  here.mark(format::StepEvent{number});
}

void mark_instant(const char* name, std::size_t bytes) {
  {
    const Recording here;
    if (!here) return;
    notice_fork();
    begin_if_cold();
    const Thread* const thread = this_thread();
    if (thread == nullptr) return;
    request_sample(here.mark(format::PhaseBeginEvent{mark_text(name, bytes), thread->depth}, format::kInstant));
  }
  reach_safe_point();
}

void outside_hook() {
  keep_drain_running();
}

} // namespace memtrace::record
