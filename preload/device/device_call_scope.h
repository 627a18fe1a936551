// Purpose: decides which source records a device call: the outermost hook or CUPTI's callback, never both.
// Runs: inside the calls of CUDA's runtime and driver.
#pragma once

#include "preload/state/safe_point.h"
#include "preload/state/thread.h"

namespace memtrace::record {

// One source owns device memory and pinned memory: CUPTI while its subscriber is active, else the hooks.
bool cupti_owns_devices();
void give_devices_to_cupti(bool owns);

// Called once, after the program's first call of the runtime or driver that has a hook. Null before it is set,
// and again once it was called.
extern constinit SafePointCall first_device_call;
void make_first_device_call();

// CUPTI's callback runs inside the call, on this thread. It counts its report, so that the hook around the call
// knows.
inline void cupti_reported() {
  ++local.device_events;
}

// Used in each hook of a runtime or driver call, around the real call.
class DeviceCall {
 public:
  DeviceCall() : outermost_(local.device_calls++ == 0), events_(local.device_events) {}
  ~DeviceCall() {
    if (--local.device_calls != 0) return;
    if (__atomic_load_n(&first_device_call, __ATOMIC_RELAXED) != nullptr) make_first_device_call();
    reach_safe_point();
  }
  DeviceCall(const DeviceCall&) = delete;
  DeviceCall& operator=(const DeviceCall&) = delete;

  // Called after the real call. True if this hook must record its effect. False for a driver call inside a
  // runtime call, and for a call that CUPTI reported. Calls without a CUPTI callback are the hook's in any
  // case. `certain`: CUPTI has a callback for this call. If none came, another tool ended the subscription
  // (cuptiFinalize), and the trace notes it.
  bool mine(bool certain) const {
    if (!outermost_) return false;
    if (!cupti_owns_devices()) return true;
    if (local.device_events != events_) return false;
    if (certain) cupti_is_gone();
    return true;
  }

 private:
  static void cupti_is_gone();

  bool outermost_;
  std::uint32_t events_;
};

} // namespace memtrace::record
