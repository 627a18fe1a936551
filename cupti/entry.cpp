// Purpose: the names by which the driver, NVTX and the doctor find this library.
// Runs: inside cuInit, and inside a program's first NVTX call.
#include <errno.h>

#include "cupti/callback.h"
#include "cupti/devices.h"
#include "cupti/door.h"
#include "cupti/nvtx.h"
#include "cupti/probe.h"
#include "cupti/subscriber.h"
#include "cupti/text.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace memtrace::cupti {
namespace {

enum Mode { kOff, kAuto, kOn };

void take_devices(const memtrace_door* door) {
  static constinit bool done = false;
  if (done) return;
  done = true;
  watch_devices(door);
  if (door->cupti_mode() == kOff) return;
  report_to(door);
  static Subscription subscription = subscribe(&on_callback);
  if (subscription.standing == Standing::active) door->owns_devices(1);
  Text note;
  note.add("cupti=");
  describe(subscription, note);
  door->note(note.text(), note.size());
  if (subscription.standing != Standing::active && door->cupti_mode() == kOn) {
    Text line;
    line.add("CUPTI ");
    describe(subscription, line);
    door->say(line.add(": device memory is taken from the hooks").text());
  }
}

} // namespace
} // namespace memtrace::cupti

// The driver calls it within cuInit, where CUDA_INJECTION64_PATH names this library. 1: all is well; it always
// is.
EXPORT int InitializeInjection() {
  const int errno_before = errno;
  if (const memtrace_door* const door = memtrace::cupti::find_door(); door != nullptr)
    memtrace::cupti::take_devices(door);
  errno = errno_before;
  return 1;
}

// NVTX calls it where NVTX_INJECTION64_PATH names this library. 0: no tool, and every range is a no-op again.
EXPORT int InitializeInjectionNvtx2(memtrace::cupti::nvtx::GetExportTable get) {
  const int errno_before = errno;
  const memtrace_door* const door = memtrace::cupti::find_door();
  const bool attached = door != nullptr && get != nullptr && door->wants_phases() != 0 &&
                        memtrace::cupti::nvtx::attach(door, get);
  errno = errno_before;
  return attached;
}

// `memtrace doctor` calls it, in a process of its own.
EXPORT void memtrace_cupti_probe(memtrace_probe_line line, void* to) {
  memtrace::cupti::probe(line, to);
}
