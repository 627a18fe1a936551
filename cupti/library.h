// Purpose: opens libcupti at run time, and finds the functions that memtrace uses.
// Runs: outside callbacks.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

namespace memtrace::cupti {

// The struct of CUPTI 13.0. Later versions add members at the end; their version number tells which.
struct SubscriberParams {
  std::size_t struct_size;
  const char* name;
  char* old_name;
  std::size_t old_name_size;
  std::uint8_t allow_several; // from 13.2 on
  std::uint8_t padding[7];
};

struct Library {
  const char* path = nullptr; // the name it was opened by; null: not found
  std::uint32_t version = 0;  // CUPTI_API_VERSION at run time; 0: not known
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

// Opens libcupti, and never closes it. First choice is the library that the program has loaded: PyTorch brings
// its own, and two copies in a process would compete for the one subscription. Else the newest that the loader
// finds, else that of the toolkit.
Library open_library();

// Returns the bytes of SubscriberParams for this version of CUPTI, which refuses any other size.
std::size_t params_size(std::uint32_t version);

// Returns a text for the user: the meaning of the result, and CUPTI's name for it.
const char* meaning_of(CUptiResult result);

} // namespace memtrace::cupti
