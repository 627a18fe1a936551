// Purpose: what it says of its devices and of addresses. The devices are like an A100 (compute capability 8.0).
// Stands for libcuda.so.1 where there is no CUDA.
#include "tests/fakes/cuda_card.h"

namespace fake::driver {
namespace {

struct Attribute {
  int number, value;
};
// By CUdevice_attribute; all others are 0.
constexpr Attribute kAttributes[] = {
    {1, 1024},       // MAX_THREADS_PER_BLOCK
    {2, 1024},       // MAX_BLOCK_DIM_X
    {3, 1024},       // MAX_BLOCK_DIM_Y
    {4, 64},         // MAX_BLOCK_DIM_Z
    {5, 2147483647}, // MAX_GRID_DIM_X
    {6, 65535},      // MAX_GRID_DIM_Y
    {7, 65535},      // MAX_GRID_DIM_Z
    {8, 49152},      // MAX_SHARED_MEMORY_PER_BLOCK
    {10, 32},        // WARP_SIZE
    {12, 65536},     // MAX_REGISTERS_PER_BLOCK
    {13, 1410000},   // CLOCK_RATE
    {16, 108},       // MULTIPROCESSOR_COUNT
    {39, 2048},      // MAX_THREADS_PER_MULTIPROCESSOR
    {41, 1},         // UNIFIED_ADDRESSING
    {75, 8},         // COMPUTE_CAPABILITY_MAJOR
    {76, 0},         // COMPUTE_CAPABILITY_MINOR
    {81, 167936},    // MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
    {82, 65536},     // MAX_REGISTERS_PER_MULTIPROCESSOR
    {97, 166912},    // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    {99, 1},         // HOST_REGISTER_SUPPORTED
    {102, 1},        // VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
    {103, 1},        // HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED
    {106, 32},       // MAX_BLOCKS_PER_MULTIPROCESSOR
    {115, 1},        // MEMORY_POOLS_SUPPORTED
};
constexpr int kPointerMemoryType = 2, kPointerOnCard = 3, kPointerDevice = 9, kPointerStart = 11,
              kPointerBytes = 12;

} // namespace

int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = 0;
  for (const Attribute& one : kAttributes)
    if (one.number == attribute) *value = one.value;
  return kSuccess;
}
int cuDeviceCanAccessPeer(int* can, int device, int peer) {
  return *can = device != peer, kSuccess;
}
int cuCtxEnablePeerAccess(void*, unsigned) {
  return kSuccess;
}
int cuCtxSynchronize() {
  return kSuccess;
}
int cuPointerGetAttribute(void* value, int attribute, Address address) {
  const Lock lock(mutex);
  const Block* const block = containing(address);
  if (block == nullptr) return kInvalidValue;
  switch (attribute) {
    case kPointerMemoryType:
      *static_cast<unsigned*>(value) = on_card(address) ? 2 : 1;
      return kSuccess;
    case kPointerOnCard: // pinned memory has the same address there
      *static_cast<Address*>(value) = address;
      return kSuccess;
    case kPointerDevice:
      *static_cast<int*>(value) = block->device >= 0 ? block->device : current_device();
      return kSuccess;
    case kPointerStart:
      *static_cast<Address*>(value) = block->address;
      return kSuccess;
    case kPointerBytes:
      *static_cast<size_t*>(value) = block->bytes;
      return kSuccess;
    default:
      return kNotSupported;
  }
}
int cuMemGetAllocationGranularity(size_t* bytes, const AllocationProperties*, int) {
  return *bytes = kGranule, kSuccess;
}
int cuMemGetAllocationPropertiesFromHandle(AllocationProperties* properties, Address handle) {
  const Lock lock(mutex);
  const Block* const block = find(handle);
  if (block == nullptr) return kInvalidValue;
  *properties = {};
  properties->type = 1; // CU_MEM_ALLOCATION_TYPE_PINNED
  properties->location = {kOnDevice, block->device};
  return kSuccess;
}
int cuMemSetAccess(Address, size_t, const void*, size_t) {
  return kSuccess;
}

} // namespace fake::driver
