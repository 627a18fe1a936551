// Purpose: the shapes and constants that the hooks use are those of the CUDA Toolkit's headers.
#include <gtest/gtest.h>

#if __has_include(<cuda.h>) && __has_include(<cuda_runtime_api.h>)
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>

#include "preload/hooks/cuda/types.h"

namespace {

namespace ours = memtrace::hooks::cuda;

#define SAME_SIZE(a, b) EXPECT_EQ(sizeof(ours::a), sizeof(b)) << #a
#define SAME_PLACE(a, x, b, y)                           \
  EXPECT_EQ(offsetof(ours::a, x), offsetof(b, y)) << #a; \
  EXPECT_EQ(sizeof(ours::a::x), sizeof(b::y)) << #a

TEST(CudaTypes, ShapesOfTheToolkit) {
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
}

TEST(CudaTypes, ConstantsOfTheToolkit) {
  EXPECT_EQ(static_cast<long long>(ours::kOutOfMemory), static_cast<long long>(CUDA_ERROR_OUT_OF_MEMORY));
  EXPECT_EQ(static_cast<long long>(ours::kOutOfMemory), static_cast<long long>(cudaErrorMemoryAllocation));
  EXPECT_EQ(static_cast<long long>(ours::kOperatingSystem),
            static_cast<long long>(CUDA_ERROR_OPERATING_SYSTEM));
  EXPECT_EQ(static_cast<long long>(ours::kNotFound), static_cast<long long>(CUDA_ERROR_NOT_FOUND));
  EXPECT_EQ(static_cast<long long>(ours::kNoDriver), static_cast<long long>(cudaErrorInsufficientDriver));
  EXPECT_EQ(static_cast<long long>(ours::kOnDevice), static_cast<long long>(CU_MEM_LOCATION_TYPE_DEVICE));
  EXPECT_EQ(static_cast<long long>(ours::kLayered), static_cast<long long>(CUDA_ARRAY3D_LAYERED));
  EXPECT_EQ(static_cast<long long>(ours::kLayered), static_cast<long long>(cudaArrayLayered));
  EXPECT_EQ(static_cast<long long>(ours::kSparse), static_cast<long long>(CUDA_ARRAY3D_SPARSE));
  EXPECT_EQ(static_cast<long long>(ours::kDeferred), static_cast<long long>(CUDA_ARRAY3D_DEFERRED_MAPPING));
  EXPECT_EQ(static_cast<long long>(ours::kGraphReservedNow),
            static_cast<long long>(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT));
  EXPECT_EQ(static_cast<long long>(ours::kPoolReservedNow),
            static_cast<long long>(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
  EXPECT_EQ(static_cast<long long>(ours::kPoolUsedNow),
            static_cast<long long>(CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
  EXPECT_EQ(static_cast<long long>(ours::kPerThreadStream),
            static_cast<long long>(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM));
}

} // namespace

#else
TEST(CudaTypes, ShapesOfTheToolkit) {
  GTEST_SKIP() << "no headers of the CUDA Toolkit were found: CUDA_HOME names their place";
}
#endif
