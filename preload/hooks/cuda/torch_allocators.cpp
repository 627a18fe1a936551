// Purpose: marks blocks as tensors, and records the totals of the caching allocators.
// Runs: inside PyTorch's allocators.
#include <dlfcn.h>

#include <cstring>

#include "preload/api/export.h"
#include "preload/blocks/recording.h"
#include "preload/hooks/cuda/device_facts.h"
#include "preload/hooks/cuda/torch_allocators.h"
#include "preload/hooks/cuda/torch_autograd.h"
#include "preload/hooks/cuda/torch_symbols.h"
#include "preload/hooks/cuda/types.h"
#include "preload/hooks/symbols/find_symbol.h"
#include "preload/os/libc/libc_table.h"
#include "preload/os/timestamp.h"
#include "preload/record/live_levels.h"
#include "preload/state/arming.h"
#include "preload/state/recorder_state.h"
#include "preload/state/thread.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::hooks {
namespace {

using format::Kind;
using record::local;
using record::Recording;

// c10::Device: two int8, passed in one register.
struct TorchDevice {
  std::int8_t type;
  std::int8_t index;
};
constexpr std::int8_t kCuda = 1;

using AllocCpu = void* (*)(std::size_t);
using FreeCpu = void (*)(void*);
using Report = void (*)(void*, std::int64_t, std::size_t, std::size_t, TorchDevice);
using ReportSigned = void (*)(void*, std::int64_t, std::int64_t, std::int64_t, TorchDevice);

constinit AllocCpu real_alloc_cpu = nullptr;
constinit FreeCpu real_free_cpu = nullptr;
constinit Report real_report = nullptr;
constinit ReportSigned real_report_signed = nullptr;
constinit std::uint64_t last_reserved[256] = {};

// c10::ArrayRef<long>: two words, passed in two registers.
struct IntArrayRef {
  const long* data;
  std::size_t length;
};
using StorageBytes = std::size_t (*)(IntArrayRef, IntArrayRef, std::size_t, std::size_t);
using StorageBytesContiguous = std::size_t (*)(IntArrayRef, std::size_t, std::size_t);
using OutOfMemory = void (*)(std::int64_t, std::size_t, std::size_t, TorchDevice);
using OutOfMemorySigned = void (*)(std::int64_t, std::int64_t, std::int64_t, TorchDevice);
constinit StorageBytes real_storage_bytes = nullptr;
constinit StorageBytesContiguous real_storage_bytes_contiguous = nullptr;
constinit OutOfMemory real_out_of_memory = nullptr;
constinit OutOfMemorySigned real_out_of_memory_signed = nullptr;

// Python loads torch RTLD_LOCAL, which RTLD_NEXT does not search. A function of libc10 is the caller, so libc10
// is loaded. The caller is not inside malloc, so the loader's lock may be taken.
template <class F>
void find_in_c10(F* out, const char* name) {
  if (*out == nullptr && !find_in(out, name, kC10Libraries)) find_next(out, name);
}
template <class F>
void find_in_torch(F* out, const char* name) {
  if (*out == nullptr && !find_in(out, name, kTorchLibraries)) find_next(out, name);
}

void report_block(void* p, std::int64_t size, std::uint64_t allocated, std::uint64_t reserved,
                  TorchDevice device) {
  if (device.type != kCuda || device.index < 0) return;
  const auto memory = static_cast<unsigned>(device.index) + 1;
  local.storage_bytes = 0; // it was for this block
  const std::uint64_t node = size > 0 && record::keeps_blocks() ? take_new_node_key() : 0;
  const Recording here;
  if (!here) return;
  local.node_to_come = node;
  const auto bytes = static_cast<std::uint64_t>(size < 0 ? -size : size);
  record::HookedBlock block = {
      reinterpret_cast<std::uint64_t>(p), 0, bytes, Kind::none, format::kTensor, memory};
  if (size > 0) {
    here.born(block);
    local.node_to_come = 0;
  } else {
    // The trace of a process that was armed has no birth of a tensor that it held before.
    if (record::device_tensor_level_of(memory) > 0) block.given = bytes;
    here.died(block, record::draw_stamp());
  }
  if (reserved != last_reserved[memory]) {
    last_reserved[memory] = reserved;
    record::device_reserved(memory, reserved); // first: an armed process drops the mark, and may be called now
    here.mark(format::ReservedEvent{allocated, reserved},
              static_cast<std::uint16_t>(memory << format::kMemoryShift));
  }
}

// Records a tensor that got no memory. A cudaMalloc that failed is not enough, because PyTorch tries again.
[[gnu::cold]] void report_out_of_memory(std::int64_t asked, TorchDevice device) {
  if (device.type != kCuda || device.index < 0 || !record::active()) return;
  record::Refusal why{cuda::kOutOfMemory};
  cuda::memory_left(&why.free, &why.total);
  const Recording here;
  if (here)
    here.failed({0, 0, static_cast<std::uint64_t>(asked), Kind::none, format::kTensor,
                 static_cast<unsigned>(device.index) + 1},
                why);
}

} // namespace

bool is_torch_allocator(const void* code) {
  // A process has few call sites. Each entry is an address, shifted by one bit; if the lowest bit is set, the
  // address is not in that library.
  static constinit std::uintptr_t sites[16] = {};
  const auto at = reinterpret_cast<std::uintptr_t>(code) << 1;
  std::uintptr_t& site = sites[at >> 3 & 15];
  const std::uintptr_t known = __atomic_load_n(&site, __ATOMIC_RELAXED);
  if (known >> 1 == at >> 1) return (known & 1) == 0;
  Dl_info where{};
  const bool torch = record::libc.dladdr(code, &where) != 0 && where.dli_fname != nullptr &&
                     std::strstr(where.dli_fname, kC10CudaLibrary) != nullptr;
  __atomic_store_n(&site, at | (torch ? 0u : 1u), __ATOMIC_RELAXED);
  return torch;
}

std::size_t torch_asked(std::size_t given) {
  const std::size_t wanted = local.storage_bytes;
  local.storage_bytes = 0;
  const bool next_power = wanted != 0 && (given & (given - 1)) == 0 && wanted <= given && wanted > given / 2;
  return next_power ? wanted : given;
}

} // namespace memtrace::hooks

using namespace memtrace::hooks;

// c10::alloc_cpu(size_t): a tensor requests memory. It calls posix_memalign, whose hook marks the block as a
// tensor.
EXPORT void* TORCH_ALLOC_CPU(std::size_t n) {
  find_in_c10(&real_alloc_cpu, TORCH_NAME(TORCH_ALLOC_CPU));
  if (real_alloc_cpu == nullptr) return nullptr;
  if (memtrace::record::active()) {
    local.node_to_come =
        memtrace::record::keeps_blocks() ? take_new_node_key() : 0; // first: the loader may allocate
    local.tensor_bytes = n;
  }
  local.storage_bytes = 0; // it was for this block
  void* const p = real_alloc_cpu(n);
  local.tensor_bytes = 0;
  local.node_to_come = 0;
  return p;
}

// c10::free_cpu(void*)
EXPORT void TORCH_FREE_CPU(void* p) {
  find_in_c10(&real_free_cpu, TORCH_NAME(TORCH_FREE_CPU));
  if (real_free_cpu == nullptr) return;
  if (memtrace::record::active() && p != nullptr) memtrace::record::mark_tensor_free();
  real_free_cpu(p);
  memtrace::record::take_tensor_free();
}

// c10::reportMemoryUsageToProfiler(void*, int64, size_t, size_t, Device): called for every block of the caching
// allocators.
EXPORT void TORCH_REPORT_MEMORY(void* p, std::int64_t size, std::size_t allocated, std::size_t reserved,
                                TorchDevice device) {
  find_in_c10(&real_report, TORCH_NAME(TORCH_REPORT_MEMORY));
  report_block(p, size, allocated, reserved, device);
  if (real_report != nullptr) real_report(p, size, allocated, reserved, device);
}

// The function of PyTorch 1.x, with signed totals.
EXPORT void TORCH_REPORT_MEMORY_1(void* p, std::int64_t size, std::int64_t allocated, std::int64_t reserved,
                                  TorchDevice device) {
  find_in_c10(&real_report_signed, TORCH_NAME(TORCH_REPORT_MEMORY_1));
  report_block(p, size, static_cast<std::uint64_t>(allocated), static_cast<std::uint64_t>(reserved), device);
  if (real_report_signed != nullptr) real_report_signed(p, size, allocated, reserved, device);
}

// c10::reportOutOfMemoryToProfiler(int64, size_t, size_t, Device): the caching allocator has given up.
EXPORT void TORCH_REPORT_OUT_OF_MEMORY(std::int64_t asked, std::size_t allocated, std::size_t reserved,
                                       TorchDevice device) {
  find_in_c10(&real_out_of_memory, TORCH_NAME(TORCH_REPORT_OUT_OF_MEMORY));
  report_out_of_memory(asked, device);
  if (real_out_of_memory != nullptr) real_out_of_memory(asked, allocated, reserved, device);
}
EXPORT void TORCH_REPORT_OUT_OF_MEMORY_1(std::int64_t asked, std::int64_t allocated, std::int64_t reserved,
                                         TorchDevice device) {
  find_in_c10(&real_out_of_memory_signed, TORCH_NAME(TORCH_REPORT_OUT_OF_MEMORY_1));
  report_out_of_memory(asked, device);
  if (real_out_of_memory_signed != nullptr) real_out_of_memory_signed(asked, allocated, reserved, device);
}

// at::detail::computeStorageNbytes(sizes, strides, itemsize, offset) and computeStorageNbytesContiguous compute
// the size of each tensor's storage, before its allocator is called. The pinned allocator rounds up and does
// not report the requested size. If the real function is in a library of another name, the hook computes the
// result itself.
EXPORT std::size_t TORCH_STORAGE_BYTES(IntArrayRef sizes, IntArrayRef strides, std::size_t item,
                                       std::size_t offset) {
  find_in_torch(&real_storage_bytes, TORCH_NAME(TORCH_STORAGE_BYTES));
  if (real_storage_bytes != nullptr)
    return local.storage_bytes = real_storage_bytes(sizes, strides, item, offset);
  std::size_t numbers = offset + 1;
  for (std::size_t i = 0; i < sizes.length; ++i) {
    if (sizes.data[i] == 0) return local.storage_bytes = 0;
    numbers += static_cast<std::size_t>(strides.data[i] * (sizes.data[i] - 1));
  }
  return local.storage_bytes = item * numbers;
}
EXPORT std::size_t TORCH_STORAGE_BYTES_CONTIGUOUS(IntArrayRef sizes, std::size_t item, std::size_t offset) {
  find_in_torch(&real_storage_bytes_contiguous, TORCH_NAME(TORCH_STORAGE_BYTES_CONTIGUOUS));
  if (real_storage_bytes_contiguous != nullptr)
    return local.storage_bytes = real_storage_bytes_contiguous(sizes, item, offset);
  std::size_t numbers = 1;
  for (std::size_t i = 0; i < sizes.length; ++i) numbers *= static_cast<std::size_t>(sizes.data[i]);
  return local.storage_bytes = item * (offset + numbers);
}
