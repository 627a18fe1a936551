// Purpose: the shapes that the hooks read are those of the toolkit.
// Compiled where the CUDA Toolkit's headers are.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "preload/hooks/cuda/types.h"

namespace ours = memtrace::hooks::cuda;

#define SAME_SIZE(a, b) static_assert(sizeof(ours::a) == sizeof(b))
#define SAME_PLACE(a, x, b, y) \
  static_assert(offsetof(ours::a, x) == offsetof(b, y) && sizeof(ours::a::x) == sizeof(b::y))

SAME_SIZE(AllocationProperties, CUmemAllocationProp);
SAME_PLACE(AllocationProperties, location, CUmemAllocationProp, location);
SAME_PLACE(Location, type, CUmemLocation, type);
SAME_PLACE(Location, id, CUmemLocation, id);
SAME_SIZE(ArrayDescriptor, CUDA_ARRAY_DESCRIPTOR);
SAME_PLACE(ArrayDescriptor, format, CUDA_ARRAY_DESCRIPTOR, Format);
SAME_PLACE(ArrayDescriptor, channels, CUDA_ARRAY_DESCRIPTOR, NumChannels);
SAME_SIZE(Array3dDescriptor, CUDA_ARRAY3D_DESCRIPTOR);
SAME_PLACE(Array3dDescriptor, depth, CUDA_ARRAY3D_DESCRIPTOR, Depth);
SAME_PLACE(Array3dDescriptor, format, CUDA_ARRAY3D_DESCRIPTOR, Format);
SAME_PLACE(Array3dDescriptor, flags, CUDA_ARRAY3D_DESCRIPTOR, Flags);
SAME_SIZE(ChannelFormat, cudaChannelFormatDesc);
SAME_PLACE(ChannelFormat, w, cudaChannelFormatDesc, w);
SAME_SIZE(Extent, cudaExtent);
SAME_PLACE(Extent, depth, cudaExtent, depth);
SAME_SIZE(PitchedPointer, cudaPitchedPtr);
SAME_PLACE(PitchedPointer, pointer, cudaPitchedPtr, ptr);
SAME_PLACE(PitchedPointer, pitch, cudaPitchedPtr, pitch);
SAME_SIZE(PoolProperties, CUmemPoolProps);
SAME_SIZE(PoolProperties, cudaMemPoolProps);
SAME_PLACE(PoolProperties, location, CUmemPoolProps, location);
SAME_PLACE(AllocationNode, bytes, CUDA_MEM_ALLOC_NODE_PARAMS, bytesize);
SAME_PLACE(AllocationNode, address, CUDA_MEM_ALLOC_NODE_PARAMS, dptr);
SAME_PLACE(AllocationNode, bytes, cudaMemAllocNodeParams, bytesize);
SAME_PLACE(AllocationNode, address, cudaMemAllocNodeParams, dptr);
SAME_SIZE(IpcHandle, CUipcMemHandle);
SAME_SIZE(IpcHandle, cudaIpcMemHandle_t);
SAME_PLACE(ExternalMemory, bytes, CUDA_EXTERNAL_MEMORY_HANDLE_DESC, size);
SAME_PLACE(ExternalMemory, bytes, cudaExternalMemoryHandleDesc, size);

static_assert(ours::kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY &&
              ours::kOutOfMemory == cudaErrorMemoryAllocation);
static_assert(ours::kOperatingSystem == CUDA_ERROR_OPERATING_SYSTEM);
static_assert(ours::kNotFound == CUDA_ERROR_NOT_FOUND && ours::kNoDriver == cudaErrorInsufficientDriver);
static_assert(ours::kOnDevice == CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(ours::kLayered == CUDA_ARRAY3D_LAYERED && ours::kLayered == cudaArrayLayered);
static_assert(ours::kSparse == CUDA_ARRAY3D_SPARSE && ours::kDeferred == CUDA_ARRAY3D_DEFERRED_MAPPING);
static_assert(ours::kGraphReservedNow == CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT);
static_assert(ours::kPoolReservedNow == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
static_assert(ours::kPoolUsedNow == CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
static_assert(ours::kPerThreadStream == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
