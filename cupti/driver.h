// Purpose: what the driver says of its devices, where it is loaded already. It is never initialised by us.
// Runs: at quiet moments, and in the doctor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::cupti {

struct Identity {
  char name[128];
  std::uint8_t uuid[16];
  std::uint64_t total; // bytes
};

// False: libcuda.so.1 is not loaded.
bool driver_is_loaded();

// Devices that this process has a context on: cuda:N for each N below `most`, true where there is one.
int devices_in_use(bool (&in_use)[16]);
bool identity_of(int device, Identity* out);

// Of the device of the calling thread's context: which, and what of it is used, by all processes. False: none.
bool use_here(int* device, std::uint64_t* used, std::uint64_t* total);

} // namespace memtrace::cupti
