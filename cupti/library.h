// Purpose: libcupti, opened at run time: which one, and the few functions that are used of it.
// Runs: outside callbacks.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

namespace memtrace::cupti {

// As far as CUPTI 13.0 has it. Later ones add members at the end and say by their version that they do.
struct SubscriberParams {
  std::size_t struct_size;
  const char* name;
  char* old_name;
  std::size_t old_name_size;
  std::uint8_t allow_several; // from 13.2 on
  std::uint8_t padding[7];
};

struct Library {
  const char* path = nullptr; // as it was asked for; null: there is none
  std::uint32_t version = 0;  // CUPTI_API_VERSION of the running one; 0: it does not say
  CUptiResult (*get_version)(std::uint32_t*) = nullptr;
  CUptiResult (*subscribe)(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*) = nullptr;
  CUptiResult (*subscribe_v2)(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*, SubscriberParams*) = nullptr;
  CUptiResult (*unsubscribe)(CUpti_SubscriberHandle) = nullptr;
  CUptiResult (*enable)(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
                        CUpti_CallbackId) = nullptr;
  CUptiResult (*device_of)(CUcontext, std::uint32_t*) = nullptr;

  bool usable() const {
    return path != nullptr && subscribe != nullptr && unsubscribe != nullptr && enable != nullptr;
  }
};

// The one that the program has loaded already (PyTorch brings its own: two copies in a process would compete
// for the one subscription), else the newest that the loader finds, else the toolkit's. Never closed.
Library open_library();

// Bytes of SubscriberParams that this version of CUPTI takes: it refuses every other figure.
std::size_t params_size(std::uint32_t version);

// CUPTI's name for a result, or its number; and what that means for us.
const char* meaning_of(CUptiResult result);

} // namespace memtrace::cupti
