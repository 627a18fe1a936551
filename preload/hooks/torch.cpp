// Room: hooks. Runs inside PyTorch's allocators.
// Job: which blocks are tensors, and what the caching allocators hold.
#include <dlfcn.h>

#include "hooks/find.h"
#include "record/recording.h"

#include "record/forbidden.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace memtrace::hooks {
namespace {

using format::Kind;
using record::local;
using record::Recording;

// c10::Device: two int8 that travel in one register.
struct Device {
  std::int8_t type;
  std::int8_t index;
};
constexpr std::int8_t kCuda = 1;

using AllocCpu = void* (*)(std::size_t);
using FreeCpu = void (*)(void*);
using Report = void (*)(void*, std::int64_t, std::size_t, std::size_t, Device);
using ReportSigned = void (*)(void*, std::int64_t, std::int64_t, std::int64_t, Device);

constinit AllocCpu real_alloc_cpu = nullptr;
constinit FreeCpu real_free_cpu = nullptr;
constinit Report real_report = nullptr;
constinit ReportSigned real_report_signed = nullptr;
constinit std::uint64_t last_reserved[16] = {};

// Python loads torch RTLD_LOCAL, where RTLD_NEXT does not look. Called by a function of libc10's, so it is
// there; not inside malloc, so the loader's lock may be taken.
template <class F>
void find_in_c10(F* out, const char* name) {
  static constexpr const char* sonames[] = {"libc10.so", nullptr};
  if (*out == nullptr && !find_in(out, name, sonames)) find_next(out, name);
}

void report_block(void* p, std::int64_t size, std::uint64_t allocated, std::uint64_t reserved, Device device) {
  if (device.type != kCuda || device.index < 0 || device.index >= 15) return;
  const auto memory = static_cast<unsigned>(device.index) + 1;
  const Recording here;
  if (!here) return;
  const auto bytes = static_cast<std::uint64_t>(size < 0 ? -size : size);
  record::Block block = {reinterpret_cast<std::uint64_t>(p), 0, bytes, Kind::none, format::kTensor, memory};
  if (size > 0) {
    here.born(block);
  } else {
    here.died(block, record::draw_stamp());
  }
  if (reserved != last_reserved[memory]) {
    last_reserved[memory] = reserved;
    here.mark(format::EventType::reserved, static_cast<std::uint16_t>(memory << format::kMemoryShift),
              allocated, reserved);
  }
}

} // namespace
} // namespace memtrace::hooks

using namespace memtrace::hooks;

// c10::alloc_cpu(size_t): what a tensor asked for. It takes its memory by posix_memalign, in our hook, marked.
EXPORT void* _ZN3c109alloc_cpuEm(std::size_t n) {
  find_in_c10(&real_alloc_cpu, "_ZN3c109alloc_cpuEm");
  if (real_alloc_cpu == nullptr) return nullptr;
  if (memtrace::record::active()) local.tensor_bytes = n;
  void* const p = real_alloc_cpu(n);
  local.tensor_bytes = 0;
  return p;
}

// c10::free_cpu(void*)
EXPORT void _ZN3c108free_cpuEPv(void* p) {
  find_in_c10(&real_free_cpu, "_ZN3c108free_cpuEPv");
  if (real_free_cpu == nullptr) return;
  if (memtrace::record::active() && p != nullptr) local.tensor_freed = true;
  real_free_cpu(p);
  local.tensor_freed = false;
}

// c10::reportMemoryUsageToProfiler(void*, int64, size_t, size_t, Device): every block of the caching
// allocators.
EXPORT void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void* p, std::int64_t size,
                                                                  std::size_t allocated, std::size_t reserved,
                                                                  Device device) {
  find_in_c10(&real_report, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
  report_block(p, size, allocated, reserved, device);
  if (real_report != nullptr) real_report(p, size, allocated, reserved, device);
}

// The same up to PyTorch 1.x, with signed totals.
EXPORT void _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE(void* p, std::int64_t size,
                                                                  std::int64_t allocated, std::int64_t reserved,
                                                                  Device device) {
  find_in_c10(&real_report_signed, "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE");
  report_block(p, size, static_cast<std::uint64_t>(allocated), static_cast<std::uint64_t>(reserved), device);
  if (real_report_signed != nullptr) real_report_signed(p, size, allocated, reserved, device);
}
