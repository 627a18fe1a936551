// Purpose: each driver call as CUPTI shows it, and what the recorder is told of it.
#include "cupti/translate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace memtrace::cupti {
namespace {

constexpr int kDevice = 3;

template <class Params>
std::optional<memtrace_device_event> translated(CUpti_CallbackId id, const Params& params,
                                                CUresult result = CUDA_SUCCESS) {
  return translate({id, &params, result, kDevice, 77});
}

TEST(Translate, AnAllocation) {
  CUdeviceptr at = 0x7f0000000000;
  const cuMemAlloc_v2_params params{&at, 4096};
  const auto event = translated(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, params);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->what, unsigned{MEMTRACE_DEVICE_BORN});
  EXPECT_EQ(event->kind, unsigned{MEMTRACE_KIND_DEVICE});
  EXPECT_EQ(event->device, kDevice);
  EXPECT_EQ(event->address, 0x7f0000000000u);
  EXPECT_EQ(event->bytes, 4096u);
}

TEST(Translate, OneThatFailedForWantOfMemoryAndNoOther) {
  CUdeviceptr at = 0xdead; // not written by a call that failed
  const cuMemAlloc_v2_params params{&at, 1 << 20};
  const auto event = translated(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, params, CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->what, unsigned{MEMTRACE_DEVICE_FAILED});
  EXPECT_EQ(event->code, 2u);
  EXPECT_EQ(event->bytes, 1u << 20);
  EXPECT_EQ(event->address, 0u);
  EXPECT_FALSE(translated(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, params, CUDA_ERROR_INVALID_VALUE));
}

TEST(Translate, AFreeHasTheStampOfBefore) {
  const cuMemFree_v2_params params{0x1000};
  const auto event = translated(CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, params);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->what, unsigned{MEMTRACE_DEVICE_DIED});
  EXPECT_EQ(event->stamp, 77u);
  EXPECT_FALSE(translated(CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, cuMemFree_v2_params{0}));
  EXPECT_FALSE(translated(CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, params, CUDA_ERROR_INVALID_VALUE));
}

TEST(Translate, PinnedMemoryIsTheHosts) {
  void* at = reinterpret_cast<void*>(0x2000);
  const cuMemHostAlloc_params params{&at, 8192, 0};
  const auto event = translated(CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc, params);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, unsigned{MEMTRACE_KIND_PINNED});
  EXPECT_EQ(event->device, -1);
  const cuMemHostRegister_v2_params registered{reinterpret_cast<void*>(0x3000), 512, 0};
  EXPECT_EQ(translated(CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2, registered)->address, 0x3000u);
}

TEST(Translate, PitchIsWhatTheDriverMadeOfIt) {
  CUdeviceptr at = 0x4000;
  std::size_t pitch = 512;
  const cuMemAllocPitch_v2_params params{&at, &pitch, 100, 10, 4};
  EXPECT_EQ(translated(CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2, params)->bytes, 5120u);
}

TEST(Translate, PhysicalMemorySaysWhereItIs) {
  CUmemGenericAllocationHandle handle = 0x55;
  CUmemAllocationProp where{};
  where.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  where.location.id = 1;
  const cuMemCreate_params params{&handle, 2 << 20, &where, 0};
  const auto event = translated(CUPTI_DRIVER_TRACE_CBID_cuMemCreate, params);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->what, unsigned{MEMTRACE_DEVICE_CREATED});
  EXPECT_EQ(event->device, 1);
  EXPECT_EQ(event->address, 0x55u);
  const auto mapped =
      translated(CUPTI_DRIVER_TRACE_CBID_cuMemMap, cuMemMap_params{0x6000, 2 << 20, 0, 0x55, 0});
  ASSERT_TRUE(mapped);
  EXPECT_EQ(mapped->what, unsigned{MEMTRACE_DEVICE_MAPPED});
  EXPECT_EQ(mapped->handle, 0x55u);
  EXPECT_EQ(mapped->address, 0x6000u);
  EXPECT_EQ(translated(CUPTI_DRIVER_TRACE_CBID_cuMemUnmap, cuMemUnmap_params{0x6000, 2 << 20})->what,
            unsigned{MEMTRACE_DEVICE_UNMAPPED});
  EXPECT_EQ(translated(CUPTI_DRIVER_TRACE_CBID_cuMemRelease, cuMemRelease_params{0x55})->what,
            unsigned{MEMTRACE_DEVICE_RELEASED});
}

TEST(Translate, AnArrayByItsShape) {
  CUarray array = reinterpret_cast<CUarray>(0x7000);
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  shape.Width = 16;
  shape.Height = 8;
  shape.Depth = 2;
  shape.Format = CU_AD_FORMAT_FLOAT;
  shape.NumChannels = 4;
  EXPECT_EQ(
      translated(CUPTI_DRIVER_TRACE_CBID_cuArray3DCreate_v2, cuArray3DCreate_v2_params{&array, &shape})->bytes,
      16u * 8 * 2 * 4 * 4);
}

TEST(Translate, EveryCallThatIsEnabledOnce) {
  std::vector<CUpti_CallbackId> ids;
  for (const CUpti_CallbackId* id = kDriverCalls; *id != 0; ++id) ids.push_back(*id);
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
  EXPECT_EQ(std::count_if(ids.begin(), ids.end(), frees), 9);
}

} // namespace
} // namespace memtrace::cupti
