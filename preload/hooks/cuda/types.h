/* Purpose: the CUDA types that the hooks read, so that a build needs no toolkit.
 * tests/unit/preload/hooks compares them with the toolkit's headers, if they are installed. Types only.
 */
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::hooks::cuda {

// Error numbers; the driver and the runtime use equal ones.
inline constexpr int kOutOfMemory = 2;
inline constexpr int kOperatingSystem = 304; // pages could not be locked or mapped
inline constexpr int kNotFound = 500;        // the driver's
inline constexpr int kNoDriver = 35;         // cudaErrorInsufficientDriver

using Address = std::uint64_t; // CUdeviceptr, and handles of physical memory

struct Location { // CUmemLocation
  int type;
  int id; // the ordinal, if it is a device
};
inline constexpr int kOnDevice = 1;

struct AllocationProperties { // CUmemAllocationProp
  int type;
  int handle_types;
  Location location;
  void* win32;
  unsigned char flags[8];
};

struct ArrayDescriptor { // CUDA_ARRAY_DESCRIPTOR
  std::size_t width, height;
  int format;
  unsigned channels;
};
struct Array3dDescriptor { // CUDA_ARRAY3D_DESCRIPTOR
  std::size_t width, height, depth;
  int format;
  unsigned channels;
  unsigned flags;
};
inline constexpr unsigned kLayered = 0x01;
inline constexpr unsigned kSparse = 0x40, kDeferred = 0x80; // arrays without memory of their own

struct ChannelFormat { // cudaChannelFormatDesc, in bits
  int x, y, z, w;
  int kind;
};
struct Extent { // cudaExtent
  std::size_t width, height, depth;
};
struct PitchedPointer { // cudaPitchedPtr
  void* pointer;
  std::size_t pitch, width, height;
};

struct PoolProperties { // CUmemPoolProps
  int type;
  int handle_types;
  Location location;
  void* win32;
  std::size_t most;
  unsigned short usage;
  unsigned char reserved[54];
};
struct AllocationNode { // CUDA_MEM_ALLOC_NODE_PARAMS, cudaMemAllocNodeParams
  PoolProperties pool;
  const void* access;
  std::size_t accesses;
  std::size_t bytes;
  Address address;
};

struct IpcHandle { // CUipcMemHandle: passed by value, in memory
  char bytes[64];
};
struct ExternalMemory { // CUDA_EXTERNAL_MEMORY_HANDLE_DESC
  int type;
  void* handle[2];
  unsigned long long bytes;
  unsigned flags;
  unsigned reserved[16];
};

inline constexpr int kGraphReservedNow = 2;          // CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT
inline constexpr int kPoolReservedNow = 5;           // CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT
inline constexpr int kPoolUsedNow = 7;               // CU_MEMPOOL_ATTR_USED_MEM_CURRENT
inline constexpr std::uint64_t kPerThreadStream = 2; // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

} // namespace memtrace::hooks::cuda
