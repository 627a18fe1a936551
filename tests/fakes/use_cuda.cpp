// Purpose: use_cuda WAY FUNCTION: that function, found in that way (fakes/find_cuda.h), gives or takes a known
// number of bytes. Prints what the fake card has given at the end.
// A victim that uses CUDA.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <sys/mman.h>

#include "tests/fakes/find_cuda.h"

namespace {

using namespace fake;

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kKept = 6 * kMiB, kFreed = 4 * kMiB;

Api cuda;

// Of the fake itself.
#define FAKE(name) reinterpret_cast<decltype(&name)>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), #name))

void check(int result, const char* call) {
  if (result == 0) return;
  std::printf("%s: %d\n", call, result);
  std::exit(1);
}
#define CHECK(call) check(call, #call)

void* pointer(Address address) {
  return reinterpret_cast<void*>(address);
}
Address* address(void** out) {
  return reinterpret_cast<Address*>(out);
}

AllocationProperties on(int device) {
  AllocationProperties properties{};
  properties.type = 1;
  properties.location = {kOnDevice, device};
  return properties;
}
Address created(size_t bytes) {
  Address handle = 0;
  const AllocationProperties properties = on(0);
  CHECK(cuda.cuMemCreate(&handle, bytes, &properties, 0));
  return handle;
}
Address mapped(size_t bytes, Address handle) {
  Address at = 0;
  CHECK(cuda.cuMemAddressReserve(&at, bytes, 0, 0, 0));
  CHECK(cuda.cuMemMap(at, bytes, 0, handle, 0));
  return at;
}
void* pool_of(decltype(cuda.cuMemPoolCreate) create) {
  PoolProperties properties{};
  properties.location = {kOnDevice, 0};
  void* pool = nullptr;
  CHECK(create(&pool, &properties));
  return pool;
}
AllocationNode node(size_t bytes) {
  AllocationNode wanted{};
  wanted.pool.location = {kOnDevice, 0};
  wanted.bytes = bytes;
  return wanted;
}

void enter(int device) {
  void* context = nullptr;
  CHECK(cuda.cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuda.cuCtxSetCurrent(context));
}

// Each thread makes 200 blocks of 1 MiB, then frees 100 of those of its neighbour.
void* made[8][200];
void make_or_free(int thread, int turn) {
  enter(0);
  for (int i = 0; i < (turn == 0 ? 200 : 100); ++i) {
    if (turn == 0) CHECK(cuda.cudaMalloc(&made[thread][i], kMiB));
    if (turn == 1) CHECK(cuda.cudaFree(made[(thread + 1) % 8][2 * i]));
  }
}
void share_out(int threads, int turn) {
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(make_or_free, i, turn);
  for (std::thread& one : all) one.join();
}

// A library of that name takes memory for itself.
void ask(const std::string& name, size_t bytes) {
  void* const library = dlopen(("lib" + name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  CHECK(reinterpret_cast<int (*)(size_t)>(dlsym(library, ("fake_" + name).c_str()))(bytes));
}

void* new_context() {
  void* context = nullptr;
  CHECK(cuda.cuCtxCreate_v2(&context, 0, 0));
  return context;
}
// Its memory is gone: to free it then is an error.
void gone(Address address) {
  std::printf("freed: %d\n", cuda.cuMemFree_v2(address) == 0);
}

struct Case {
  const char* name;
  void (*run)();
};
#define RUN(name, ...)        \
  {                           \
#name, [] { __VA_ARGS__ } \
  }

void *p, *q, *pool, *graph;
size_t pitch;
constexpr ChannelFormat kFloat = {32, 0, 0, 0, 2};

const Case cases[] = {
    // The runtime's.
    RUN(cudaMalloc, CHECK(cuda.cudaMalloc(&p, kKept));),
    RUN(cudaMallocManaged, CHECK(cuda.cudaMallocManaged(&p, kKept, 1));),
    RUN(cudaMallocPitch, CHECK(cuda.cudaMallocPitch(&p, &pitch, kMiB - 100, 6));),
    RUN(cudaMalloc3D, PitchedPointer out; CHECK(cuda.cudaMalloc3D(&out, {kMiB - 100, 3, 2}));),
    RUN(cudaMallocArray, CHECK(cuda.cudaMallocArray(&p, &kFloat, 1024, 1536, 0));),
    RUN(cudaMalloc3DArray, CHECK(cuda.cudaMalloc3DArray(&p, &kFloat, {1024, 512, 3}, 0));),
    RUN(cudaMallocMipmappedArray, CHECK(cuda.cudaMallocMipmappedArray(&p, &kFloat, {1024, 1024, 1}, 2, 0));),
    RUN(cudaMallocAsync, CHECK(cuda.cudaMallocAsync(&p, kKept, nullptr));),
    RUN(cudaMallocAsync_ptsz, CHECK(cuda.cudaMallocAsync_ptsz(&p, kKept, nullptr));),
    RUN(cudaMallocFromPoolAsync, pool = pool_of(cuda.cudaMemPoolCreate);
        CHECK(cuda.cudaMallocFromPoolAsync(&p, kKept, pool, nullptr));),
    RUN(cudaMallocFromPoolAsync_ptsz, pool = pool_of(cuda.cudaMemPoolCreate);
        CHECK(cuda.cudaMallocFromPoolAsync_ptsz(&p, kKept, pool, nullptr));),
    RUN(cudaMallocHost, CHECK(cuda.cudaMallocHost(&p, kKept));),
    RUN(cudaHostAlloc, CHECK(cuda.cudaHostAlloc(&p, kKept, 0));),
    RUN(cudaHostRegister, p = std::malloc(kKept); CHECK(cuda.cudaHostRegister(p, kKept, 0));),
    RUN(cudaFree, CHECK(cuda.cudaMalloc(&p, kFreed)); CHECK(cuda.cudaFree(p)); CHECK(cuda.cudaFree(nullptr));
        CHECK(cuda.cudaMalloc(&p, kKept));),
    RUN(cudaFreeAsync, CHECK(cuda.cudaMallocAsync(&p, kFreed, nullptr)); CHECK(cuda.cudaFreeAsync(p, nullptr));
        CHECK(cuda.cudaMallocAsync(&p, kKept, nullptr));),
    RUN(cudaFreeAsync_ptsz, CHECK(cuda.cudaMallocAsync(&p, kFreed, nullptr));
        CHECK(cuda.cudaFreeAsync_ptsz(p, nullptr)); CHECK(cuda.cudaMallocAsync(&p, kKept, nullptr));),
    RUN(cudaFreeArray, CHECK(cuda.cudaMallocArray(&p, &kFloat, 1024, 1024, 0)); CHECK(cuda.cudaFreeArray(p));
        CHECK(cuda.cudaMallocArray(&p, &kFloat, 1024, 1536, 0));),
    RUN(cudaFreeMipmappedArray, CHECK(cuda.cudaMallocMipmappedArray(&p, &kFloat, {1024, 1024, 1}, 1, 0));
        CHECK(cuda.cudaFreeMipmappedArray(p)); CHECK(cuda.cudaMalloc(&p, kKept));),
    RUN(cudaFreeHost, CHECK(cuda.cudaMallocHost(&p, kFreed)); CHECK(cuda.cudaFreeHost(p));
        CHECK(cuda.cudaMallocHost(&p, kKept));),
    RUN(cudaHostUnregister, p = std::malloc(kFreed); CHECK(cuda.cudaHostRegister(p, kFreed, 0));
        CHECK(cuda.cudaHostUnregister(p)); q = std::malloc(kKept); CHECK(cuda.cudaHostRegister(q, kKept, 0));),
    RUN(cudaMemPoolTrimTo, pool = pool_of(cuda.cudaMemPoolCreate);
        CHECK(cuda.cudaMallocFromPoolAsync(&p, kKept, pool, nullptr)); CHECK(cuda.cudaFreeAsync(p, nullptr));
        CHECK(cuda.cudaMemPoolTrimTo(pool, kMiB));),
    RUN(cudaMemPoolDestroy, pool = pool_of(cuda.cudaMemPoolCreate);
        CHECK(cuda.cudaMallocFromPoolAsync(&p, kKept, pool, nullptr)); CHECK(cuda.cudaFreeAsync(p, nullptr));
        CHECK(cuda.cudaMemPoolDestroy(pool));),
    RUN(cudaMemPoolImportPointer, CHECK(cuda.cudaMemPoolImportPointer(&p, nullptr, nullptr));),
    RUN(cudaIpcOpenMemHandle, CHECK(cuda.cudaIpcOpenMemHandle(&p, {}, 1));),
    RUN(cudaIpcCloseMemHandle, CHECK(cuda.cudaIpcOpenMemHandle(&p, {}, 1));
        CHECK(cuda.cudaIpcCloseMemHandle(p));),
    RUN(cudaImportExternalMemory, ExternalMemory wanted{}; wanted.bytes = kKept;
        CHECK(cuda.cudaImportExternalMemory(&p, &wanted));),
    RUN(cudaDestroyExternalMemory, ExternalMemory wanted{}; wanted.bytes = kKept;
        CHECK(cuda.cudaImportExternalMemory(&p, &wanted)); CHECK(cuda.cudaDestroyExternalMemory(p));),
    RUN(cudaGraphAddMemAllocNode, AllocationNode wanted = node(kKept);
        CHECK(cuda.cudaGraphAddMemAllocNode(&p, graph, nullptr, 0, &wanted));),
    RUN(cudaGraphAddMemFreeNode, AllocationNode wanted = node(kKept);
        CHECK(cuda.cudaGraphAddMemAllocNode(&p, graph, nullptr, 0, &wanted));
        CHECK(cuda.cudaGraphAddMemFreeNode(&p, graph, nullptr, 0, pointer(wanted.address)));),
    RUN(cudaGraphLaunch, AllocationNode wanted = node(kKept);
        CHECK(cuda.cudaGraphAddMemAllocNode(&p, graph, nullptr, 0, &wanted));
        CHECK(cuda.cudaGraphLaunch(graph, nullptr)); CHECK(cuda.cudaGraphLaunch(graph, nullptr));),
    RUN(cudaGraphLaunch_ptsz, AllocationNode wanted = node(kKept);
        CHECK(cuda.cudaGraphAddMemAllocNode(&p, graph, nullptr, 0, &wanted));
        CHECK(cuda.cudaGraphLaunch_ptsz(graph, nullptr));),
    RUN(cudaDeviceGraphMemTrim, AllocationNode wanted = node(kKept);
        CHECK(cuda.cudaGraphAddMemAllocNode(&p, graph, nullptr, 0, &wanted));
        CHECK(cuda.cudaGraphLaunch(graph, nullptr)); CHECK(cuda.cudaDeviceGraphMemTrim(0));),

    // The driver's.
    RUN(cuMemAlloc_v2, CHECK(cuda.cuMemAlloc_v2(address(&p), kKept));),
    RUN(cuMemAllocManaged, CHECK(cuda.cuMemAllocManaged(address(&p), kKept, 1));),
    RUN(cuMemAllocPitch_v2, CHECK(cuda.cuMemAllocPitch_v2(address(&p), &pitch, kMiB - 100, 6, 4));),
    RUN(cuMemAllocAsync, CHECK(cuda.cuMemAllocAsync(address(&p), kKept, nullptr));),
    RUN(cuMemAllocAsync_ptsz, CHECK(cuda.cuMemAllocAsync_ptsz(address(&p), kKept, nullptr));),
    RUN(cuMemAllocFromPoolAsync, pool = pool_of(cuda.cuMemPoolCreate);
        CHECK(cuda.cuMemAllocFromPoolAsync(address(&p), kKept, pool, nullptr));),
    RUN(cuMemAllocFromPoolAsync_ptsz, pool = pool_of(cuda.cuMemPoolCreate);
        CHECK(cuda.cuMemAllocFromPoolAsync_ptsz(address(&p), kKept, pool, nullptr));),
    RUN(cuMemAllocHost_v2, CHECK(cuda.cuMemAllocHost_v2(&p, kKept));),
    RUN(cuMemHostAlloc, CHECK(cuda.cuMemHostAlloc(&p, kKept, 0));),
    RUN(cuMemHostRegister_v2, p = std::malloc(kKept); CHECK(cuda.cuMemHostRegister_v2(p, kKept, 0));),
    RUN(cuMemFree_v2, CHECK(cuda.cuMemAlloc_v2(address(&p), kFreed)); CHECK(cuda.cuMemFree_v2(*address(&p)));
        CHECK(cuda.cuMemAlloc_v2(address(&p), kKept));),
    RUN(cuMemFreeAsync, CHECK(cuda.cuMemAllocAsync(address(&p), kFreed, nullptr));
        CHECK(cuda.cuMemFreeAsync(*address(&p), nullptr));
        CHECK(cuda.cuMemAllocAsync(address(&p), kKept, nullptr));),
    RUN(cuMemFreeAsync_ptsz, CHECK(cuda.cuMemAllocAsync(address(&p), kFreed, nullptr));
        CHECK(cuda.cuMemFreeAsync_ptsz(*address(&p), nullptr));
        CHECK(cuda.cuMemAllocAsync(address(&p), kKept, nullptr));),
    RUN(cuMemFreeHost, CHECK(cuda.cuMemHostAlloc(&p, kFreed, 0)); CHECK(cuda.cuMemFreeHost(p));
        CHECK(cuda.cuMemHostAlloc(&p, kKept, 0));),
    RUN(cuMemHostUnregister, p = std::malloc(kFreed); CHECK(cuda.cuMemHostRegister_v2(p, kFreed, 0));
        CHECK(cuda.cuMemHostUnregister(p)); q = std::malloc(kKept);
        CHECK(cuda.cuMemHostRegister_v2(q, kKept, 0));),
    RUN(cuArrayCreate_v2, const ArrayDescriptor wanted = {1024, 1536, 0x20, 1};
        CHECK(cuda.cuArrayCreate_v2(&p, &wanted));),
    RUN(cuArray3DCreate_v2, const Array3dDescriptor wanted = {1024, 512, 3, 0x10, 2, 0};
        CHECK(cuda.cuArray3DCreate_v2(&p, &wanted));),
    RUN(cuArrayDestroy, const ArrayDescriptor small = {1024, 1024, 0x20, 1}, wanted = {1024, 1536, 0x20, 1};
        CHECK(cuda.cuArrayCreate_v2(&p, &small)); CHECK(cuda.cuArrayDestroy(p));
        CHECK(cuda.cuArrayCreate_v2(&p, &wanted));),
    RUN(cuMipmappedArrayCreate, const Array3dDescriptor wanted = {1024, 1024, 1, 0x20, 1, 0};
        CHECK(cuda.cuMipmappedArrayCreate(&p, &wanted, 2));),
    RUN(cuMipmappedArrayDestroy, const Array3dDescriptor wanted = {1024, 1024, 1, 0x20, 1, 0};
        CHECK(cuda.cuMipmappedArrayCreate(&p, &wanted, 1)); CHECK(cuda.cuMipmappedArrayDestroy(p));
        CHECK(cuda.cuMemAlloc_v2(address(&p), kKept));),

    // Physical memory and addresses: as PyTorch's expandable segments, and NCCL, which releases at once.
    RUN(cuMemCreate, mapped(kKept, created(kKept));),
    RUN(cuMemRelease, CHECK(cuda.cuMemRelease(created(kFreed))); created(kKept);),
    RUN(cuMemMap, const Address handle = created(kKept); mapped(kKept, handle);
        CHECK(cuda.cuMemRelease(handle));),
    RUN(cuMemUnmap, const Address handle = created(kFreed); const Address at = mapped(kFreed, handle);
        CHECK(cuda.cuMemRelease(handle)); CHECK(cuda.cuMemUnmap(at, kFreed)); created(kKept);),
    RUN(cuMemRetainAllocationHandle, Address handle = created(kKept); const Address at = mapped(kKept, handle);
        CHECK(cuda.cuMemRetainAllocationHandle(&handle, pointer(at))); CHECK(cuda.cuMemUnmap(at, kKept));
        CHECK(cuda.cuMemRelease(handle));),
    RUN(cuMemImportFromShareableHandle, Address handle = 0;
        CHECK(cuda.cuMemImportFromShareableHandle(&handle, nullptr, 1));),
    RUN(cuMemAddressReserve, CHECK(cuda.cuMemAddressReserve(address(&p), 64 * kMiB, 0, 0, 0));),
    RUN(cuMemAddressFree, CHECK(cuda.cuMemAddressReserve(address(&p), 64 * kMiB, 0, 0, 0));
        CHECK(cuda.cuMemAddressFree(*address(&p), 64 * kMiB));),

    RUN(cuMemPoolTrimTo, pool = pool_of(cuda.cuMemPoolCreate);
        CHECK(cuda.cuMemAllocFromPoolAsync(address(&p), kKept, pool, nullptr));
        CHECK(cuda.cuMemFreeAsync(*address(&p), nullptr)); CHECK(cuda.cuMemPoolTrimTo(pool, kMiB));),
    RUN(cuMemPoolDestroy, pool = pool_of(cuda.cuMemPoolCreate);
        CHECK(cuda.cuMemAllocFromPoolAsync(address(&p), kKept, pool, nullptr));
        CHECK(cuda.cuMemFreeAsync(*address(&p), nullptr)); CHECK(cuda.cuMemPoolDestroy(pool));),
    RUN(cuMemPoolImportPointer, CHECK(cuda.cuMemPoolImportPointer(address(&p), nullptr, nullptr));),
    RUN(cuIpcOpenMemHandle_v2, CHECK(cuda.cuIpcOpenMemHandle_v2(address(&p), {}, 1));),
    RUN(cuIpcCloseMemHandle, CHECK(cuda.cuIpcOpenMemHandle_v2(address(&p), {}, 1));
        CHECK(cuda.cuIpcCloseMemHandle(*address(&p)));),
    RUN(cuImportExternalMemory, ExternalMemory wanted{}; wanted.bytes = kKept;
        CHECK(cuda.cuImportExternalMemory(&p, &wanted));),
    RUN(cuDestroyExternalMemory, ExternalMemory wanted{}; wanted.bytes = kKept;
        CHECK(cuda.cuImportExternalMemory(&p, &wanted)); CHECK(cuda.cuDestroyExternalMemory(p));),
    RUN(cuGraphAddMemAllocNode, AllocationNode wanted = node(kKept);
        CHECK(cuda.cuGraphAddMemAllocNode(&p, graph, nullptr, 0, &wanted));),
    RUN(cuGraphAddMemFreeNode, AllocationNode wanted = node(kKept);
        CHECK(cuda.cuGraphAddMemAllocNode(&p, graph, nullptr, 0, &wanted));
        CHECK(cuda.cuGraphAddMemFreeNode(&p, graph, nullptr, 0, wanted.address));),
    RUN(cuGraphLaunch, AllocationNode wanted = node(kKept);
        CHECK(cuda.cuGraphAddMemAllocNode(&p, graph, nullptr, 0, &wanted));
        CHECK(cuda.cuGraphLaunch(graph, nullptr)); CHECK(cuda.cuGraphLaunch(graph, nullptr));),
    RUN(cuGraphLaunch_ptsz, AllocationNode wanted = node(kKept);
        CHECK(cuda.cuGraphAddMemAllocNode(&p, graph, nullptr, 0, &wanted));
        CHECK(cuda.cuGraphLaunch_ptsz(graph, nullptr));),
    RUN(cuDeviceGraphMemTrim, AllocationNode wanted = node(kKept);
        CHECK(cuda.cuGraphAddMemAllocNode(&p, graph, nullptr, 0, &wanted));
        CHECK(cuda.cuGraphLaunch(graph, nullptr)); CHECK(cuda.cuDeviceGraphMemTrim(0));),

    // Contexts: what was born in one dies with it.
    RUN(cuCtxDestroy_v2, void* const context = new_context(); CHECK(cuda.cuMemAlloc_v2(address(&p), kFreed));
        CHECK(cuda.cuCtxDestroy_v2(context)); enter(0); gone(*address(&p));
        CHECK(cuda.cuMemAlloc_v2(address(&p), kKept));),
    RUN(cuDevicePrimaryCtxRelease_v2, CHECK(cuda.cuMemAlloc_v2(address(&p), kFreed)); enter(0);
        CHECK(cuda.cuDevicePrimaryCtxRelease_v2(0)); CHECK(cuda.cuDevicePrimaryCtxRelease_v2(0)); enter(0);
        gone(*address(&p)); CHECK(cuda.cuMemAlloc_v2(address(&p), kKept));),
    RUN(cuDevicePrimaryCtxRetain, enter(1); enter(1); enter(0);),
    RUN(cuDevicePrimaryCtxReset_v2, CHECK(cuda.cuMemAlloc_v2(address(&p), kFreed));
        CHECK(cuda.cuDevicePrimaryCtxReset_v2(0)); enter(0); gone(*address(&p));
        CHECK(cuda.cuMemAlloc_v2(address(&p), kKept));),
    RUN(cudaDeviceReset, CHECK(cuda.cudaMalloc(&p, kFreed)); CHECK(cuda.cudaDeviceReset());
        CHECK(cuda.cudaMalloc(&p, kKept));),

    // Not of one function.
    RUN(context_of_all, CHECK(cuda.cuMemAlloc_v2(address(&p), kMiB)); void* const context = new_context();
        CHECK(cuda.cuMemAlloc_v2(address(&p), 2 * kMiB));
        CHECK(cuda.cuMemAllocManaged(address(&p), 3 * kMiB, 1));
        const ArrayDescriptor wanted = {1024, 1024, 0x20, 1}; CHECK(cuda.cuArrayCreate_v2(&p, &wanted));
        CHECK(cuda.cuMemHostAlloc(&p, 5 * kMiB, 0)); p = std::malloc(6 * kMiB);
        CHECK(cuda.cuMemHostRegister_v2(p, 6 * kMiB, 0));
        CHECK(cuda.cuMemAllocAsync(address(&p), 7 * kMiB, nullptr)); created(8 * kMiB);
        CHECK(cuda.cuCtxDestroy_v2(context));),
    RUN(captured, CHECK(cuda.cudaMallocAsync(&p, kFreed, nullptr)); FAKE(fake_cuda_capture)(1);
        CHECK(cuda.cudaMallocAsync(&p, kKept, nullptr)); FAKE(fake_cuda_capture)(0);),
    RUN(out_of_memory, CHECK(cuda.cudaMalloc(&p, kKept)); q = &q; int results[5] = {};
        results[0] = cuda.cudaMalloc(&q, size_t{1} << 41);
        results[1] = cuda.cuMemAlloc_v2(address(&q), size_t{1} << 41); results[2] = cuda.cudaMalloc(nullptr, 1);
        results[3] = cuda.cudaHostAlloc(&q, size_t{1} << 41, 0); const AllocationProperties properties = on(0);
        results[4] = cuda.cuMemCreate(address(&q), size_t{1} << 41, &properties, 0);
        for (const int result
             : results) std::printf("%d ", result);
        std::printf("untouched %d\n", q == &q);),
    RUN(libraries, ask("nccl", kMiB); ask("cublas", 2 * kMiB); ask("extension", 3 * kMiB);),
    RUN(mlock, p = std::malloc(kKept); CHECK(mlock(p, kKept)); CHECK(munlock(p, kKept));),
    RUN(threads, share_out(8, 0); share_out(8, 1);),
    RUN(two_devices, CHECK(cuda.cudaMalloc(&p, kKept)); CHECK(cuda.cudaSetDevice(1));
        CHECK(cuda.cudaMalloc(&q, kFreed)); CHECK(cuda.cudaFree(p)); // of the other device
        const AllocationProperties first = on(0); CHECK(cuda.cuMemCreate(address(&p), 2 * kMiB, &first, 0));),
};

void start() {
  CHECK(cuda.cuInit(0));
  enter(0);
}

} // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  cuda = find_cuda(words[1]);
  start();
  for (const Case& one : cases) {
    if (std::strcmp(one.name, words[2]) != 0) continue;
    one.run();
    const auto used = FAKE(fake_cuda_used);
    std::printf("used %zu %zu\n", used(0), used(1));
    return 0;
  }
  return 2;
}
