// Purpose: the functions of PyTorch's libraries that memtrace hooks or calls, by their mangled names.
// Runs: nowhere: names only.
//
// No other file of the preload object has such a name but hooks/exports.map, which must list the hooks. If a
// version changes the parameters of a function, its name changes: add a hook of the new name, and leave the old
// one.
#pragma once

#define TORCH_TEXT(name) #name
#define TORCH_NAME(name) TORCH_TEXT(name)

// c10::alloc_cpu(size_t)
#define TORCH_ALLOC_CPU _ZN3c109alloc_cpuEm
// c10::free_cpu(void*)
#define TORCH_FREE_CPU _ZN3c108free_cpuEPv
// c10::reportMemoryUsageToProfiler(void*, int64, size_t, size_t, Device)
#define TORCH_REPORT_MEMORY _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
// the same in PyTorch 1.x, with signed totals
#define TORCH_REPORT_MEMORY_1 _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE
// c10::reportOutOfMemoryToProfiler(int64, size_t, size_t, Device)
#define TORCH_REPORT_OUT_OF_MEMORY _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE
// the same in PyTorch 1.x
#define TORCH_REPORT_OUT_OF_MEMORY_1 _ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE
// at::detail::computeStorageNbytes(sizes, strides, itemsize, offset)
#define TORCH_STORAGE_BYTES _ZN2at6detail20computeStorageNbytesEN3c108ArrayRefIlEES3_mm
// at::detail::computeStorageNbytesContiguous(sizes, itemsize, offset)
#define TORCH_STORAGE_BYTES_CONTIGUOUS _ZN2at6detail30computeStorageNbytesContiguousEN3c108ArrayRefIlEEmm
// at::sequence_number::get_and_increment()
#define TORCH_NEXT_NODE_NUMBER _ZN2at15sequence_number17get_and_incrementEv
// torch::autograd::Engine::evaluate_function(shared_ptr<GraphTask>&, Node*, InputBuffer&,
// shared_ptr<ReadyQueue> const&)
#define TORCH_EVALUATE_FUNCTION \
  _ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEEPNS0_4NodeERNS0_11InputBufferERKS2_INS0_10ReadyQueueEE

namespace memtrace::hooks {

// at::RecordFunction::currentThreadId(), which is called and not hooked.
inline constexpr const char kTorchThreadId[] = "_ZN2at14RecordFunction15currentThreadIdEv";

// The libraries that define them, and the library of PyTorch's allocator of device memory.
inline constexpr const char* kC10Libraries[] = {"libc10.so", nullptr};
inline constexpr const char* kTorchLibraries[] = {"libtorch_cpu.so", "libtorch.so", nullptr};
inline constexpr const char kC10CudaLibrary[] = "libc10_cuda.so";

} // namespace memtrace::hooks
