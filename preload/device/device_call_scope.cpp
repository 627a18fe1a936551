// Purpose: decides which source records a device call: the outermost hook or CUPTI's callback, never both.
// Runs: inside the calls of CUDA's runtime and driver.
#include "preload/device/device_call_scope.h"

#include "preload/blocks/recording.h"

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

void DeviceCall::cupti_is_gone() {
  if (!__atomic_exchange_n(&cupti_owns, false, __ATOMIC_ACQ_REL)) return;
  static constexpr char kNote[] = "cupti=lost: a call came without its callback; hooks alone from here";
  if (const Recording here; here) here.note(kNote, sizeof kNote - 1);
}

} // namespace memtrace::record
