// Room: hooks. Runs inside the CUDA runtime's allocation calls.
// Job: a first slice of device memory: cudaMalloc, cudaFree, pinned host memory.
#include "hooks/find.h"
#include "record/recording.h"

#include "record/forbidden.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace memtrace::hooks {
namespace {

using format::Kind;
using record::Block;
using record::Recording;

constexpr int kOutOfMemory = 2; // cudaErrorMemoryAllocation
constexpr int kNotFound = 35;   // cudaErrorInsufficientDriver: what a program without a usable CUDA sees anyway

using Malloc = int (*)(void**, std::size_t);
using Free = int (*)(void*);
using HostAlloc = int (*)(void**, std::size_t, unsigned);
using GetDevice = int (*)(int*);
using GetInfo = int (*)(std::size_t*, std::size_t*);

constinit Malloc real_malloc = nullptr;
constinit Free real_free = nullptr;
constinit HostAlloc real_host_alloc = nullptr;
constinit Malloc real_malloc_host = nullptr;
constinit Free real_free_host = nullptr;
constinit GetDevice real_get_device = nullptr;
constinit GetInfo real_get_info = nullptr;
constinit bool named[16] = {};

template <class F>
void find_in_runtime(F* out, const char* name) {
  static constexpr const char* sonames[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", nullptr};
  if (*out != nullptr) return;
  find_next(out, name);
  if (*out == nullptr) find_in(out, name, sonames);
}

unsigned current_memory() {
  find_in_runtime(&real_get_device, "cudaGetDevice");
  int device = 0;
  if (real_get_device != nullptr && real_get_device(&device) != 0) device = 0;
  return device >= 0 && device < 15 ? static_cast<unsigned>(device) + 1 : 1;
}

std::uint64_t word(const void* p) {
  return reinterpret_cast<std::uint64_t>(p);
}

void born(void* p, std::size_t n, Kind kind, unsigned memory) {
  const Recording here;
  if (!here) return;
  if (memory != 0 && !named[memory]) {
    named[memory] = true;
    here.device(memory, "hooks");
  }
  here.born({word(p), n, n, kind, 0, memory});
}

// What CUDA's last error is stays: a call that succeeds does not change it.
[[gnu::cold]] void refused(std::size_t n, Kind kind, unsigned memory) {
  record::Refusal why{kOutOfMemory};
  find_in_runtime(&real_get_info, "cudaMemGetInfo");
  std::size_t free = 0, total = 0;
  if (memory != 0 && real_get_info != nullptr && real_get_info(&free, &total) == 0) {
    why.free = free;
    why.total = total;
  }
  if (const Recording here; here) here.failed({0, 0, n, kind, 0, memory}, why);
}

void ended(int result, void** out, std::size_t n, Kind kind, unsigned memory) {
  if (!record::active()) return;
  if (result == 0) born(*out, n, kind, memory);
  if (result == kOutOfMemory) refused(n, kind, memory);
}

void died(void* p, Kind kind, unsigned memory, format::Stamp death) {
  if (const Recording here; here) here.died({word(p), 0, 0, kind, 0, memory}, death);
}

} // namespace
} // namespace memtrace::hooks

using namespace memtrace::hooks;
using memtrace::format::Kind;

EXPORT int cudaMalloc(void** out, std::size_t n) {
  find_in_runtime(&real_malloc, "cudaMalloc");
  if (real_malloc == nullptr) return kNotFound;
  const int result = real_malloc(out, n);
  if (memtrace::record::active()) ended(result, out, n, Kind::device, current_memory());
  return result;
}

EXPORT int cudaFree(void* p) {
  find_in_runtime(&real_free, "cudaFree");
  if (real_free == nullptr) return kNotFound;
  const memtrace::format::Stamp death = memtrace::record::active() ? memtrace::record::draw_stamp() : 0;
  const int result = real_free(p);
  if (result == 0 && p != nullptr && death != 0) died(p, Kind::device, current_memory(), death);
  return result;
}

EXPORT int cudaHostAlloc(void** out, std::size_t n, unsigned flags) {
  find_in_runtime(&real_host_alloc, "cudaHostAlloc");
  if (real_host_alloc == nullptr) return kNotFound;
  const int result = real_host_alloc(out, n, flags);
  ended(result, out, n, Kind::pinned, 0);
  return result;
}

EXPORT int cudaMallocHost(void** out, std::size_t n) {
  find_in_runtime(&real_malloc_host, "cudaMallocHost");
  if (real_malloc_host == nullptr) return kNotFound;
  const int result = real_malloc_host(out, n);
  ended(result, out, n, Kind::pinned, 0);
  return result;
}

EXPORT int cudaFreeHost(void* p) {
  find_in_runtime(&real_free_host, "cudaFreeHost");
  if (real_free_host == nullptr) return kNotFound;
  const memtrace::format::Stamp death = memtrace::record::active() ? memtrace::record::draw_stamp() : 0;
  const int result = real_free_host(p);
  if (result == 0 && p != nullptr && death != 0) died(p, Kind::pinned, 0, death);
  return result;
}
