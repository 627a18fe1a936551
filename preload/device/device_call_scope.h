// Purpose: who records what one device call did: the outermost hook, or CUPTI's callback. Never two.
// Runs: inside the calls of CUDA's runtime and driver.
#pragma once

#include "preload/state/safe_point.h"
#include "preload/state/thread.h"

namespace memtrace::record {

// One source owns device memory, and pinned memory with it: CUPTI while its subscriber is active, else hooks.
bool cupti_owns_devices();
void give_devices_to_cupti(bool owns);

// CUPTI's callback reports from inside the call: on this thread, so that the hook around it knows.
inline void cupti_reported() {
  ++local.device_events;
}

// In each hook of the runtime's and of the driver's calls, around the real call.
class DeviceCall {
 public:
  DeviceCall() : outermost_(local.device_calls++ == 0), events_(local.device_events) {}
  ~DeviceCall() {
    if (--local.device_calls == 0) reach_safe_point();
  }
  DeviceCall(const DeviceCall&) = delete;
  DeviceCall& operator=(const DeviceCall&) = delete;

  // After the real call: is what it did this hook's to record? Not a driver call inside a runtime call's, nor
  // what CUPTI reported. What CUPTI has no callback for is the hook's in any case. `certain`: CUPTI has one, so
  // if it kept silent its subscription is gone (cuptiFinalize by somebody else): the trace says so.
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
