// Purpose: the C functions of memtrace.h.
// Runs: on the program's thread.
#define MEMTRACE_IMPLEMENTATION
#include "preload/api/memtrace.h"

#include <cstring>

#include "preload/marks/framework_facts.h"
#include "preload/marks/phase_marks.h"
#include "preload/state/arming.h"
#include "preload/state/recorder_state.h"
#include "preload/state/settings.h"

#include "preload/os/gate/forbidden.h"

namespace record = memtrace::record;

namespace {

bool wanted() {
  return record::settings.phases != record::PhaseSource::off;
}

} // namespace

void memtrace_phase_begin(const char* name) {
  if (name != nullptr && wanted()) record::phase_begin(name, std::strlen(name), 0);
}

void memtrace_phase_end() {
  if (wanted()) record::phase_end_marked();
}

void memtrace_step(uint64_t n) {
  if (wanted()) record::step_begin(n);
}

void memtrace_snapshot(const char* name) {
  if (name != nullptr && wanted()) record::mark_instant(name, std::strlen(name));
}

int memtrace_is_recording() {
  return record::active() && !record::is_armed() ? 1 : 0;
}

void memtrace_label(const void* ptr, size_t bytes, const char* role, const char* name) {
  record::label(ptr, bytes, role != nullptr ? role : "", name != nullptr ? name : "");
}
