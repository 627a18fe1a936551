// Purpose: translates one call of the driver into a memory event. It makes no calls, so tests need no GPU.
// Runs: inside CUPTI's callbacks.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <optional>

#include "preload/api/cupti_bridge.h"

namespace memtrace::cupti {

struct ApiCall {
  CUpti_CallbackId id;
  const void* params; // struct of generated_cuda_meta.h
  CUresult result;
  int device;          // of the thread's context; -1: it has none
  std::uint64_t stamp; // drawn when the call began, if it may free
};

// The ids to enable, one by one, so that any other call costs nothing. Ends with 0.
extern const CUpti_CallbackId kDriverCalls[];

// True if this call frees memory: then its stamp is drawn before the call.
bool frees(CUpti_CallbackId id);

// Called at the call's exit. Returns nullopt if the call moved no memory, or failed for any reason but lack of
// memory.
std::optional<memtrace_device_event> translate(const ApiCall& call);

} // namespace memtrace::cupti
