// Purpose: its caching allocator for one device: blocks in segments of cudaMalloc, or, as PyTorch's DriverAPI
// does, in pages that a table of the driver's functions maps
// (PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True). Each block is told to c10, and what could not be had.
// Stands for PyTorch's libc10_cuda.so.
#include "tests/fakes/c10_cuda.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "tests/fakes/c10.h"
#include "tests/fakes/cuda.h"

namespace {

constexpr std::size_t kRound = 512, kSmallSegment = 2 << 20, kLargeSegment = 20 << 20, kSmall = 1 << 20,
                      kLarge = 10 << 20;

// c10/cuda/driver_api.h: by name and version, at first use.
struct DriverApi {
#define FUNCTIONS(F) \
  F(cuMemAddressReserve) F(cuMemAddressFree) F(cuMemCreate) F(cuMemMap) F(cuMemUnmap) F(cuMemRelease)
#define F(name) decltype(&fake::name) name;
  FUNCTIONS(F)
#undef F
  DriverApi() {
    int status = 0;
#define F(function) \
  fake::cudaGetDriverEntryPointByVersion(#function, reinterpret_cast<void**>(&function), 12000, 0, &status);
    FUNCTIONS(F)
#undef F
  }
};

struct Segment {
  std::size_t bytes, used; // blocks are cut from its front; it is free again when none is left
  std::size_t blocks;
  fake::Address handle; // of pages that were mapped
};

std::map<char*, Segment> segments;
std::map<char*, std::pair<char*, std::size_t>> blocks; // to their segment and size
std::size_t allocated, reserved;

bool configured(const char* what) {
  const char* const conf = std::getenv("PYTORCH_CUDA_ALLOC_CONF");
  return conf != nullptr && std::strstr(conf, what) != nullptr;
}
bool expandable() {
  return configured("expandable_segments:True");
}
// Its other allocator leaves the caching to the driver, and tells c10 nothing.
bool asynchronous() {
  return configured("backend:cudaMallocAsync");
}
void* async_tensor(std::size_t bytes) {
  void* block = nullptr;
  const int result = fake::cudaMallocAsync(&block, bytes, nullptr);
  if (result != 0) return nullptr;
  blocks[static_cast<char*>(block)] = {nullptr, bytes};
  allocated += bytes;
  return block;
}
std::size_t pool_says(int attribute, bool trim) {
  void* pool = nullptr;
  std::uint64_t value = 0;
  int status = 0;
  decltype(&fake::cuDeviceGetMemPool) get = nullptr;
  decltype(&fake::cuMemPoolGetAttribute) ask = nullptr;
  fake::cudaGetDriverEntryPointByVersion("cuDeviceGetMemPool", reinterpret_cast<void**>(&get), 12000, 0,
                                         &status);
  fake::cudaGetDriverEntryPointByVersion("cuMemPoolGetAttribute", reinterpret_cast<void**>(&ask), 12000, 0,
                                         &status);
  get(&pool, 0);
  if (trim) fake::cudaMemPoolTrimTo(pool, 0);
  ask(pool, attribute, &value);
  return value;
}
DriverApi& driver() {
  static DriverApi api;
  return api;
}

char* map_pages(std::size_t bytes, fake::Address* handle) {
  fake::AllocationProperties wanted{};
  wanted.type = 1;
  wanted.location = {fake::kOnDevice, 0};
  if (driver().cuMemCreate(handle, bytes, &wanted, 0) != 0) return nullptr;
  fake::Address at = 0;
  driver().cuMemAddressReserve(&at, bytes, 0, 0, 0);
  driver().cuMemMap(at, bytes, 0, *handle, 0);
  return reinterpret_cast<char*>(at);
}
char* new_segment(std::size_t bytes) {
  Segment segment{bytes, 0, 0, 0};
  void* at = nullptr;
  if (expandable()) {
    at = map_pages(bytes, &segment.handle);
  } else if (fake::cudaMalloc(&at, bytes) != 0) {
    at = nullptr;
  }
  if (at == nullptr) return nullptr;
  reserved += bytes;
  segments[static_cast<char*>(at)] = segment;
  return static_cast<char*>(at);
}
void end_segment(char* at, const Segment& segment) {
  const auto address = reinterpret_cast<fake::Address>(at);
  if (segment.handle == 0) {
    fake::cudaFree(at);
  } else {
    driver().cuMemUnmap(address, segment.bytes);
    driver().cuMemRelease(segment.handle);
    driver().cuMemAddressFree(address, segment.bytes);
  }
  reserved -= segment.bytes;
}

char* fitting(std::size_t bytes) {
  for (auto& [at, segment] : segments)
    if (segment.bytes - segment.used >= bytes) return at;
  return nullptr;
}

} // namespace

void* fake_cuda_tensor(std::size_t asked) {
  if (asynchronous()) return async_tensor(asked);
  const std::size_t bytes = (asked + kRound - 1) / kRound * kRound;
  const std::size_t wanted = bytes <= kSmall   ? kSmallSegment
                             : bytes <= kLarge ? kLargeSegment
                                               : (bytes + kSmallSegment - 1) / kSmallSegment * kSmallSegment;
  char* home = fitting(bytes);
  if (home == nullptr) home = new_segment(wanted);
  if (home == nullptr) {
    fake_cuda_empty_cache();
    home = new_segment(wanted);
  }
  if (home == nullptr) {
    c10::reportOutOfMemoryToProfiler(static_cast<std::int64_t>(bytes), allocated, reserved, c10::Device{1, 0});
    return nullptr;
  }
  Segment& segment = segments[home];
  char* const block = home + segment.used;
  segment.used += bytes;
  ++segment.blocks;
  blocks[block] = {home, bytes};
  allocated += bytes;
  c10::reportMemoryUsageToProfiler(block, static_cast<std::int64_t>(bytes), allocated, reserved,
                                   c10::Device{1, 0});
  return block;
}

void fake_cuda_drop(void* tensor) {
  const auto at = blocks.find(static_cast<char*>(tensor));
  const auto [home, bytes] = at->second;
  blocks.erase(at);
  if (home == nullptr) {
    allocated -= bytes;
    fake::cudaFreeAsync(tensor, nullptr);
    return;
  }
  Segment& segment = segments[home];
  if (--segment.blocks == 0) segment.used = 0;
  allocated -= bytes;
  c10::reportMemoryUsageToProfiler(tensor, -static_cast<std::int64_t>(bytes), allocated, reserved,
                                   c10::Device{1, 0});
}

void fake_cuda_empty_cache() {
  if (asynchronous()) pool_says(fake::kPoolReservedNow, true);
  for (auto at = segments.begin(); at != segments.end();) {
    if (at->second.blocks != 0) {
      ++at;
      continue;
    }
    end_segment(at->first, at->second);
    at = segments.erase(at);
  }
}

std::size_t fake_cuda_allocated() {
  return allocated;
}
std::size_t fake_cuda_reserved() {
  return asynchronous() ? pool_says(fake::kPoolReservedNow, false) : reserved;
}
