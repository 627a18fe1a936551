// Purpose: the exported functions by which the driver, NVTX and the doctor find this library.
// Runs: inside cuInit, and inside a program's first NVTX call.
#include <errno.h>

#include "cupti/bridge.h"
#include "cupti/callback.h"
#include "cupti/devices.h"
#include "cupti/nvtx.h"
#include "cupti/probe.h"
#include "cupti/subscriber.h"
#include "cupti/text.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace memtrace::cupti {
namespace {

enum Mode { kOff, kAuto, kOn };

void take_devices(const memtrace_bridge* bridge) {
  static constinit bool done = false;
  if (done) return;
  done = true;
  watch_devices(bridge);
  if (bridge->cupti_mode() == kOff) return;
  report_to(bridge);
  static Subscription subscription = subscribe(&on_callback);
  if (subscription.standing == Standing::active) bridge->owns_devices(1);
  BoundedText note;
  note.add("cupti=");
  describe(subscription, note);
  bridge->note(note.text(), note.size());
  if (subscription.standing != Standing::active && bridge->cupti_mode() == kOn) {
    BoundedText line;
    line.add("CUPTI ");
    describe(subscription, line);
    bridge->say(line.add(": device memory is taken from the hooks").text());
  }
}

} // namespace
} // namespace memtrace::cupti

// The driver calls it in cuInit if CUDA_INJECTION64_PATH names this library. Returns 1, success, in all cases.
EXPORT int InitializeInjection() {
  const int errno_before = errno;
  const memtrace_bridge* const bridge = memtrace::cupti::find_bridge();
  if (!memtrace::cupti::subscribe_as_probe() && bridge != nullptr) memtrace::cupti::take_devices(bridge);
  errno = errno_before;
  return 1;
}

// NVTX calls it if NVTX_INJECTION64_PATH names this library. Returns 0 for "no tool": then every range is a
// no-op.
EXPORT int InitializeInjectionNvtx2(memtrace::cupti::nvtx::GetExportTable get) {
  const int errno_before = errno;
  const memtrace_bridge* const bridge = memtrace::cupti::find_bridge();
  const bool attached = bridge != nullptr && get != nullptr && bridge->wants_phases() != 0 &&
                        memtrace::cupti::nvtx::attach(bridge, get);
  errno = errno_before;
  return attached;
}

// `memtrace doctor` calls it, in a separate process.
EXPORT void memtrace_cupti_probe(memtrace_probe_line line, void* to) {
  memtrace::cupti::probe(line, to);
}
