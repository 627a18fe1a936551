// Purpose: one call of the driver -> what became of memory. Pure: nothing is called, so tests need no GPU.
// Runs: inside CUPTI's callbacks.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <optional>

#include "preload/api/cupti_bridge.h"

namespace memtrace::cupti {

struct ApiCall {
  CUpti_CallbackId id;
  const void* params; // as generated_cuda_meta.h has them
  CUresult result;
  int device;          // of the thread's context; -1: it has none
  std::uint64_t stamp; // drawn when the call began, if it may free
};

// The ids to be told of, each by itself: a call that is not here costs nothing. Ends with 0.
extern const CUpti_CallbackId kDriverCalls[];

// Does this call give memory back? Then its stamp is drawn before it.
bool frees(CUpti_CallbackId id);

// At the call's exit. Nothing when it failed for another reason than want of memory, or moved no memory.
std::optional<memtrace_device_event> translate(const ApiCall& call);

} // namespace memtrace::cupti
