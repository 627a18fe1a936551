// Purpose: translates one call of the driver into a memory event. It makes no calls, so tests need no GPU.
// Runs: inside CUPTI's callbacks.
#include "cupti/translate.h"

namespace memtrace::cupti {
namespace {

constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
constexpr int kHost = -1;

std::uint64_t word(const void* p) {
  return reinterpret_cast<std::uint64_t>(p);
}

// The request of a call that allocates memory, and where the call stores its result.
struct AllocationResult {
  std::uint32_t kind = MEMTRACE_KIND_DEVICE;
  int device = kHost;
  std::uint64_t bytes = 0;
  const void* out = nullptr; // where the address is after the call succeeded
  bool handle = false;       // the address is a handle of physical memory
};

template <class T>
const T& as(const void* params) {
  return *static_cast<const T*>(params);
}

std::uint64_t channel_bytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4;
    default:
      return 1; // a lower bound for packed and compressed formats
  }
}

std::uint64_t at_least_one(std::size_t n) {
  return n != 0 ? n : 1;
}

std::uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& array) {
  return at_least_one(array.Width) * at_least_one(array.Height) * at_least_one(array.Depth) *
         array.NumChannels * channel_bytes(array.Format);
}

std::uint64_t mipmap_bytes(CUDA_ARRAY3D_DESCRIPTOR level, unsigned levels) {
  std::uint64_t bytes = 0;
  for (unsigned i = 0; i < levels && i < 32; ++i) {
    bytes += array_bytes(level);
    level.Width /= 2;
    level.Height /= 2;
    level.Depth /= 2;
  }
  return bytes;
}

// The properties of cuMemCreate name the device.
AllocationResult created(const cuMemCreate_params& params) {
  AllocationResult given{MEMTRACE_KIND_DEVICE_VMM, kHost, params.size, params.handle, true};
  if (params.prop == nullptr) return given;
  if (params.prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
    given.device = params.prop->location.id;
  } else {
    given.kind = MEMTRACE_KIND_PINNED;
  }
  return given;
}

AllocationResult given_by(const ApiCall& call) {
  const void* const p = call.params;
  const int here = call.device;
  switch (call.id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2:
      return {MEMTRACE_KIND_DEVICE, here, as<cuMemAlloc_v2_params>(p).bytesize,
              as<cuMemAlloc_v2_params>(p).dptr};
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2: {
      const auto& params = as<cuMemAllocPitch_v2_params>(p);
      const bool known = call.result == CUDA_SUCCESS && params.pPitch != nullptr;
      return {MEMTRACE_KIND_DEVICE, here, (known ? *params.pPitch : params.WidthInBytes) * params.Height,
              params.dptr};
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged:
      return {MEMTRACE_KIND_MANAGED, here, as<cuMemAllocManaged_params>(p).bytesize,
              as<cuMemAllocManaged_params>(p).dptr};
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz:
      return {MEMTRACE_KIND_DEVICE_ASYNC, here, as<cuMemAllocAsync_params>(p).bytesize,
              as<cuMemAllocAsync_params>(p).dptr};
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz:
      return {MEMTRACE_KIND_DEVICE_ASYNC, here, as<cuMemAllocFromPoolAsync_params>(p).bytesize,
              as<cuMemAllocFromPoolAsync_params>(p).dptr};
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2:
      return {MEMTRACE_KIND_PINNED, kHost, as<cuMemAllocHost_v2_params>(p).bytesize,
              as<cuMemAllocHost_v2_params>(p).pp};
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc:
      return {MEMTRACE_KIND_PINNED, kHost, as<cuMemHostAlloc_params>(p).bytesize,
              as<cuMemHostAlloc_params>(p).pp};
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2:
      return {MEMTRACE_KIND_REGISTERED, kHost, as<cuMemHostRegister_v2_params>(p).bytesize,
              &as<cuMemHostRegister_v2_params>(p).p};
    case CUPTI_DRIVER_TRACE_CBID_cuMemCreate:
      return created(as<cuMemCreate_params>(p));
    case CUPTI_DRIVER_TRACE_CBID_cuArrayCreate_v2: {
      const auto& params = as<cuArrayCreate_v2_params>(p);
      if (params.pAllocateArray == nullptr) return {};
      const CUDA_ARRAY_DESCRIPTOR& flat = *params.pAllocateArray;
      const CUDA_ARRAY3D_DESCRIPTOR array{flat.Width, flat.Height, 0, flat.Format, flat.NumChannels, 0};
      return {MEMTRACE_KIND_DEVICE, here, array_bytes(array), params.pHandle};
    }
    case CUPTI_DRIVER_TRACE_CBID_cuArray3DCreate_v2: {
      const auto& params = as<cuArray3DCreate_v2_params>(p);
      if (params.pAllocateArray == nullptr) return {};
      return {MEMTRACE_KIND_DEVICE, here, array_bytes(*params.pAllocateArray), params.pHandle};
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMipmappedArrayCreate: {
      const auto& params = as<cuMipmappedArrayCreate_params>(p);
      if (params.pMipmappedArrayDesc == nullptr) return {};
      return {MEMTRACE_KIND_DEVICE, here, mipmap_bytes(*params.pMipmappedArrayDesc, params.numMipmapLevels),
              params.pHandle};
    }
    default:
      return {};
  }
}

memtrace_device_event event(std::uint32_t what, std::uint32_t kind, int device) {
  return {what, kind, device, 0, 0, 0, 0, 0, kUnknown, kUnknown};
}

std::optional<memtrace_device_event> died(const ApiCall& call, std::uint32_t kind, int device,
                                          std::uint64_t address) {
  if (address == 0) return std::nullopt;
  memtrace_device_event out = event(MEMTRACE_DEVICE_DIED, kind, device);
  out.address = address;
  out.stamp = call.stamp;
  return out;
}

std::optional<memtrace_device_event> of_mapping(const ApiCall& call) {
  if (call.id == CUPTI_DRIVER_TRACE_CBID_cuMemMap) {
    const auto& params = as<cuMemMap_params>(call.params);
    memtrace_device_event out = event(MEMTRACE_DEVICE_MAPPED, MEMTRACE_KIND_DEVICE_VMM, call.device);
    out.address = params.ptr;
    out.bytes = params.size;
    out.handle = params.handle;
    return out;
  }
  if (call.id == CUPTI_DRIVER_TRACE_CBID_cuMemRetainAllocationHandle) {
    const auto* const handle = as<cuMemRetainAllocationHandle_params>(call.params).handle;
    if (handle == nullptr) return std::nullopt;
    memtrace_device_event out = event(MEMTRACE_DEVICE_RETAINED, MEMTRACE_KIND_DEVICE_VMM, call.device);
    out.address = *handle;
    return out;
  }
  const bool unmaps = call.id == CUPTI_DRIVER_TRACE_CBID_cuMemUnmap;
  memtrace_device_event out = event(unmaps ? MEMTRACE_DEVICE_UNMAPPED : MEMTRACE_DEVICE_RELEASED,
                                    MEMTRACE_KIND_DEVICE_VMM, call.device);
  out.address = unmaps ? as<cuMemUnmap_params>(call.params).ptr : as<cuMemRelease_params>(call.params).handle;
  if (unmaps) out.bytes = as<cuMemUnmap_params>(call.params).size;
  out.stamp = call.stamp;
  return out;
}

} // namespace

const CUpti_CallbackId kDriverCalls[] = {
    CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync,
    CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc,
    CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost,
    CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister,
    CUPTI_DRIVER_TRACE_CBID_cuMemCreate,
    CUPTI_DRIVER_TRACE_CBID_cuMemRelease,
    CUPTI_DRIVER_TRACE_CBID_cuMemRetainAllocationHandle,
    CUPTI_DRIVER_TRACE_CBID_cuMemMap,
    CUPTI_DRIVER_TRACE_CBID_cuMemUnmap,
    CUPTI_DRIVER_TRACE_CBID_cuArrayCreate_v2,
    CUPTI_DRIVER_TRACE_CBID_cuArray3DCreate_v2,
    CUPTI_DRIVER_TRACE_CBID_cuArrayDestroy,
    CUPTI_DRIVER_TRACE_CBID_cuMipmappedArrayCreate,
    CUPTI_DRIVER_TRACE_CBID_cuMipmappedArrayDestroy,
    0,
};

bool frees(CUpti_CallbackId id) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost:
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister:
    case CUPTI_DRIVER_TRACE_CBID_cuMemRelease:
    case CUPTI_DRIVER_TRACE_CBID_cuMemUnmap:
    case CUPTI_DRIVER_TRACE_CBID_cuArrayDestroy:
    case CUPTI_DRIVER_TRACE_CBID_cuMipmappedArrayDestroy:
      return true;
    default:
      return false;
  }
}

std::optional<memtrace_device_event> translate(const ApiCall& call) {
  const void* const p = call.params;
  const bool done = call.result == CUDA_SUCCESS;
  if (p == nullptr || (!done && call.result != CUDA_ERROR_OUT_OF_MEMORY)) return std::nullopt;
  if (frees(call.id) && !done) return std::nullopt;
  switch (call.id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2:
      return died(call, MEMTRACE_KIND_DEVICE, call.device, as<cuMemFree_v2_params>(p).dptr);
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz:
      return died(call, MEMTRACE_KIND_DEVICE_ASYNC, call.device, as<cuMemFreeAsync_params>(p).dptr);
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost:
      return died(call, MEMTRACE_KIND_PINNED, kHost, word(as<cuMemFreeHost_params>(p).p));
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister:
      return died(call, MEMTRACE_KIND_REGISTERED, kHost, word(as<cuMemHostUnregister_params>(p).p));
    case CUPTI_DRIVER_TRACE_CBID_cuArrayDestroy:
      return died(call, MEMTRACE_KIND_DEVICE, call.device, word(as<cuArrayDestroy_params>(p).hArray));
    case CUPTI_DRIVER_TRACE_CBID_cuMipmappedArrayDestroy:
      return died(call, MEMTRACE_KIND_DEVICE, call.device,
                  word(as<cuMipmappedArrayDestroy_params>(p).hMipmappedArray));
    case CUPTI_DRIVER_TRACE_CBID_cuMemMap:
    case CUPTI_DRIVER_TRACE_CBID_cuMemUnmap:
    case CUPTI_DRIVER_TRACE_CBID_cuMemRelease:
    case CUPTI_DRIVER_TRACE_CBID_cuMemRetainAllocationHandle:
      return done ? of_mapping(call) : std::nullopt;
    default:
      break;
  }
  const AllocationResult given = given_by(call);
  if (given.out == nullptr || given.bytes == 0) return std::nullopt;
  memtrace_device_event out = event(!done          ? MEMTRACE_DEVICE_FAILED
                                    : given.handle ? MEMTRACE_DEVICE_CREATED
                                                   : MEMTRACE_DEVICE_BORN,
                                    given.kind, given.device);
  out.bytes = given.bytes;
  out.code = static_cast<std::uint32_t>(call.result);
  if (done) out.address = *static_cast<const std::uint64_t*>(given.out);
  if (done && out.address == 0) return std::nullopt;
  return out;
}

} // namespace memtrace::cupti
