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

// Returns the depth of the innermost open phase of that name, from 1; 0: none.
std::uint32_t depth_of(const Thread& thread, TextId name) {
  for (std::uint32_t depth = thread.depth; depth > 0; --depth)
    if (thread.phases[depth - 1] == name) return depth;
  return 0;
}

static_assert(kMaxPhases <= 8 * sizeof Thread::automatic);

// Removes the phase at `index` from the list of open phases.
void remove_phase(Thread& thread, std::uint32_t index) {
  for (std::uint32_t i = index + 1; i < thread.depth; ++i) thread.phases[i - 1] = thread.phases[i];
  const std::uint32_t below = (1u << index) - 1;
  thread.automatic = (thread.automatic & below) | (thread.automatic >> 1 & ~below);
}

bool is_training(const char* name, std::size_t bytes) {
  for (const char* phase : {"forward", "backward", "step"})
    if (bytes == std::strlen(phase) && std::memcmp(name, phase, bytes) == 0) return true;
  return false;
}

// Begins to record, because a process with a mark must leave a trace.
void begin_if_cold() {
  if (state() == State::buffering) begin_recording();
}

void mark_begin(const char* name, std::size_t bytes, std::uint16_t flags) {
  const Recording here;
  if (!here) return;
  notice_fork();
  if ((flags & format::kAuto) != 0 && is_training(name, bytes)) becomes_trainer();
  begin_if_cold();
  Thread* const thread = this_thread();
  if (thread == nullptr) return;
  if (thread->depth >= kMaxPhases) { // without a name, its end could not be found
    ++thread->depth;
    return;
  }
  const TextId text = mark_text(name, bytes);
  here.mark(format::PhaseBeginEvent{text, thread->depth}, flags);
  const std::uint32_t bit = 1u << thread->depth;
  thread->phases[thread->depth] = text;
  thread->automatic = (flags & format::kAuto) != 0 ? thread->automatic | bit : thread->automatic & ~bit;
  ++thread->depth;
  request_sample();
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
  const TextId text = mark_text(name, bytes);
  const std::uint32_t depth = depth_of(*thread, text);
  if (depth == 0) return;
  remove_phase(*thread, depth - 1);
  --thread->depth;
  here.mark(format::PhaseEndEvent{text, thread->depth}, flags);
  request_sample();
}

} // namespace

void phase_begin(const char* name, std::size_t bytes, std::uint16_t flags) {
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
  std::uint32_t depth = thread->depth;
  while (depth > 0 && (thread->automatic >> (depth - 1) & 1u) != 0) --depth;
  char name[kMaxMarkText];
  if (depth != 0) phase_end(name, copy_text(thread->phases[depth - 1], name, sizeof name), 0);
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
  const Recording here;
  if (!here) return;
  begin_if_cold();
  here.mark(format::StepEvent{number});
}

void outside_hook() {
  keep_drain_running();
}

} // namespace memtrace::record
