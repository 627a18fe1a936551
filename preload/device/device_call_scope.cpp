// Purpose: decides which source records a device call: the outermost hook or CUPTI's callback, never both.
// Runs: inside the calls of CUDA's runtime and driver.
#include "preload/device/device_call_scope.h"

#include <errno.h>

#include "preload/blocks/recording.h"
#include "preload/state/recorder_state.h"

namespace memtrace::record {
namespace {

constinit bool cupti_owns = false;

} // namespace

bool cupti_owns_devices() {
  return __atomic_load_n(&cupti_owns, __ATOMIC_ACQUIRE);
}

void give_devices_to_cupti(bool owns) {
  __atomic_store_n(&cupti_owns, owns, __ATOMIC_RELEASE);
}

constinit SafePointCall first_device_call = nullptr;

// As at a safe point: not inside the recorder's own work, and errno stays.
void make_first_device_call() {
  if (!active() || local.busy != 0) return;
  const SafePointCall call = __atomic_exchange_n(&first_device_call, nullptr, __ATOMIC_ACQ_REL);
  if (call == nullptr) return; // another thread was first
  const int errno_before = errno;
  call();
  errno = errno_before;
}

void DeviceCall::cupti_is_gone() {
  if (!__atomic_exchange_n(&cupti_owns, false, __ATOMIC_ACQ_REL)) return;
  static constexpr char kNote[] = "cupti=lost: a call came without its callback; hooks alone from here";
  if (const Recording here; here) here.note(kNote, sizeof kNote - 1);
}

} // namespace memtrace::record
