// Purpose: the exported functions by which the driver, NVTX and the doctor find this library.
// Runs: inside cuInit, and inside a program's first NVTX call.
#include <errno.h>
#include <unistd.h>

#include "cupti/bridge.h"
#include "cupti/callback.h"
#include "cupti/devices.h"
#include "cupti/loader_calls.h"
#include "cupti/nvtx.h"
#include "cupti/probe.h"
#include "cupti/subscriber.h"
#include "cupti/text.h"
#include "preload/api/export.h"

namespace memtrace::cupti {
namespace {

constexpr int kOn = 2; // MEMTRACE_CUPTI=on; the default leaves CUPTI's one subscription to profilers

void take_devices(const memtrace_bridge* bridge) {
  static constinit bool done = false;
  if (done) return;
  done = true;
  watch_devices(bridge);
  if (bridge->cupti_mode() != kOn) return;
  report_to(bridge);
  static Subscription subscription = subscribe(&on_callback);
  if (subscription.standing == Standing::active) bridge->owns_devices(1);
  BoundedText note;
  note.add("cupti=");
  describe(subscription, note);
  bridge->note(note.text(), note.size());
  if (subscription.standing != Standing::active) {
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

// Prints what works here on stdout.
EXPORT void memtrace_cupti_probe() {
  memtrace::cupti::probe();
}

// The library is a program, too: `memtrace doctor` lets the dynamic loader run it. A command that is linked
// statically cannot open a library, and a driver must not end the command that asks it. The probe runs in the
// copy that the driver finds when it opens CUDA_INJECTION64_PATH: to the loader, the program is another object.
extern "C" __attribute__((visibility("hidden"), used)) void memtrace_run_probe() {
  Dl_info own{};
  void* library = nullptr;
  if (dladdr(reinterpret_cast<void*>(&memtrace_cupti_probe), &own) != 0)
    library = dlopen(own.dli_fname, RTLD_NOW | RTLD_LOCAL);
  void* const probe = library != nullptr ? dlsym(library, "memtrace_cupti_probe") : nullptr;
  if (probe != nullptr) reinterpret_cast<void (*)()>(probe)();
  _exit(probe == nullptr);
}
asm(R"(
  .text
  .globl memtrace_cupti_start
  .type memtrace_cupti_start, @function
memtrace_cupti_start:
  xorl %ebp, %ebp
  andq $-16, %rsp
  call memtrace_run_probe
  .size memtrace_cupti_start, .-memtrace_cupti_start
)");
