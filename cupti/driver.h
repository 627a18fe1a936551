// Purpose: queries the driver about its devices, if it is loaded. memtrace never initialises it.
// Runs: at safe points, and in the doctor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::cupti {

struct Identity {
  char name[128];
  std::uint8_t uuid[16];
  std::uint64_t total; // bytes
};

// Returns false if libcuda.so.1 is not loaded.
bool driver_is_loaded();

// Returns the number of devices on which this process has a primary context, and sets in_use[N] for cuda:N.
int devices_in_use(bool (&in_use)[16]);
bool identity_of(int device, Identity* out);

// Queries the device of the calling thread's context: its ordinal, and the bytes that all processes use. False:
// the thread has no context, or the driver does not answer.
bool use_here(int* device, std::uint64_t* used, std::uint64_t* total);

} // namespace memtrace::cupti
