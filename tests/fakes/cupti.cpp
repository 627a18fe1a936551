// Purpose: one subscriber, callbacks from inside the fake driver's calls, and the ways in which CUPTI says no.
// Stands for libcupti.so where there is no driver that CUPTI would talk to.
//
// FAKE_CUPTI says how it behaves: nothing: well; `held=NAME`: NAME is the subscriber; `error=N`: refuses with
// N; `late=N`: does so after cuInit, but not inside it; `dies=N`: finalizes itself after N callbacks, as when
// another tool calls cuptiFinalize. FAKE_CUPTI_VERSION: what cuptiGetVersion says. Like the real ones it takes
// SubscriberParams of exactly its version's size.
#include <cupti.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tests/fakes/cupti_activity.h"
#include "tests/fakes/image.h"

namespace {

constexpr std::uint32_t kVersion = 130001;
constexpr std::size_t kIds = 1024;

struct Subscriber {
  CUpti_CallbackFunc call;
  void* user;
};
Subscriber subscriber;
bool enabled[kIds];
bool resources[64];
long left = -1; // callbacks until it dies; -1: it does not
int callbacks;

struct Known {
  const char* name;
  CUpti_CallbackId id;
};
#define KNOWN(name) \
  { #name, CUPTI_DRIVER_TRACE_CBID_##name }
const Known known[] = {KNOWN(cuMemAlloc_v2),
                       KNOWN(cuMemAllocPitch_v2),
                       KNOWN(cuMemFree_v2),
                       KNOWN(cuMemAllocManaged),
                       KNOWN(cuMemAllocAsync),
                       KNOWN(cuMemAllocAsync_ptsz),
                       KNOWN(cuMemAllocFromPoolAsync),
                       KNOWN(cuMemAllocFromPoolAsync_ptsz),
                       KNOWN(cuMemFreeAsync),
                       KNOWN(cuMemFreeAsync_ptsz),
                       KNOWN(cuMemAllocHost_v2),
                       KNOWN(cuMemHostAlloc),
                       KNOWN(cuMemFreeHost),
                       KNOWN(cuMemHostRegister_v2),
                       KNOWN(cuMemHostUnregister),
                       KNOWN(cuMemCreate),
                       KNOWN(cuMemRelease),
                       KNOWN(cuMemRetainAllocationHandle),
                       KNOWN(cuMemMap),
                       KNOWN(cuMemUnmap),
                       KNOWN(cuArrayCreate_v2),
                       KNOWN(cuArray3DCreate_v2),
                       KNOWN(cuArrayDestroy),
                       KNOWN(cuMipmappedArrayCreate),
                       KNOWN(cuMipmappedArrayDestroy)};

const char* behaviour() {
  const char* const text = std::getenv("FAKE_CUPTI");
  return text != nullptr ? text : "";
}
long number_behind(const char* prefix, long otherwise) {
  const std::size_t bytes = std::strlen(prefix);
  return std::strncmp(behaviour(), prefix, bytes) == 0 ? std::atol(behaviour() + bytes) : otherwise;
}
std::uint32_t version() {
  const char* const text = std::getenv("FAKE_CUPTI_VERSION");
  return text != nullptr ? static_cast<std::uint32_t>(std::atol(text)) : kVersion;
}

template <class F>
F of_driver(const char* name) {
  void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return library != nullptr ? reinterpret_cast<F>(dlsym(library, name)) : nullptr;
}

CUcontext current_context() {
  static const auto get = of_driver<int (*)(CUcontext*)>("cuCtxGetCurrent");
  CUcontext context = nullptr;
  if (get != nullptr) get(&context);
  return context;
}

void resource(CUpti_CallbackId id, CUcontext context, void* descriptor) {
  if (subscriber.call == nullptr || !resources[id]) return;
  CUpti_ResourceData data{};
  data.context = context;
  data.resourceDescriptor = descriptor;
  subscriber.call(subscriber.user, CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

struct Retained { // the arguments of cuDevicePrimaryCtxRetain
  CUcontext* out;
  int device;
};

void others(const char* name, const void* parameters) {
  if (std::strcmp(name, "cuDevicePrimaryCtxRetain") == 0) {
    const auto& [out, device] = *static_cast<const Retained*>(parameters);
    static const auto holders = of_driver<int (*)(int)>("fake_cuda_holders");
    if (holders(device) == 1) resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, *out, nullptr);
  }
  if (std::strcmp(name, "cuModuleLoadData") == 0) {
    const void* const image = static_cast<const void* const*>(parameters)[1];
    CUpti_ModuleResourceData module{1, fake::described(image).cubin, nullptr};
    resource(CUPTI_CBID_RESOURCE_MODULE_LOADED, current_context(), &module);
  }
}

// Contexts that this call is about to end.
void destroyed(const char* name, const void* parameters) {
  if (std::strcmp(name, "cuCtxDestroy_v2") == 0)
    resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, *static_cast<const CUcontext*>(parameters), nullptr);
  const bool resets = std::strcmp(name, "cuDevicePrimaryCtxReset_v2") == 0;
  if (!resets && std::strcmp(name, "cuDevicePrimaryCtxRelease_v2") != 0) return;
  const int device = *static_cast<const int*>(parameters);
  static const auto holders = of_driver<int (*)(int)>("fake_cuda_holders");
  if (holders(device) == 0 || (!resets && holders(device) > 1)) return;
  resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
           reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(device) + 1), nullptr);
}

thread_local bool
    inside; // of a call that another one makes inside, as the runtime's do, there is one callback each

void on_call(int site, const char* name, const void* parameters, const int* result) {
  if (&fake_cupti_record != nullptr) fake_cupti_record(site, name);
  if (subscriber.call == nullptr || inside) return;
  if (left == 0) {
    subscriber = {};
    return;
  }
  inside = true;
  if (site == 0) destroyed(name, parameters);
  if (site == 1) others(name, parameters);
  static thread_local std::uint64_t shared;
  for (const Known& one : known) {
    if (!enabled[one.id] || std::strcmp(one.name, name) != 0) continue;
    CUpti_CallbackData data{};
    data.callbackSite = site == 0 ? CUPTI_API_ENTER : CUPTI_API_EXIT;
    data.functionName = name;
    data.functionParams = parameters;
    data.functionReturnValue = const_cast<int*>(result);
    data.context = current_context();
    if (site == 0) shared = 0;
    data.correlationData = &shared;
    ++callbacks;
    if (left > 0) --left;
    subscriber.call(subscriber.user, CUPTI_CB_DOMAIN_DRIVER_API, one.id, &data);
  }
  inside = false;
}

CUptiResult subscribe(CUpti_SubscriberHandle* out, CUpti_CallbackFunc call, void* user, char* holder) {
  const char* const held = std::strncmp(behaviour(), "held=", 5) == 0 ? behaviour() + 5 : nullptr;
  if (held != nullptr || subscriber.call != nullptr) {
    if (holder != nullptr) std::strcpy(holder, held != nullptr ? held : "CUPTI for another");
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  if (const long error = number_behind("error=", 0); error != 0) return static_cast<CUptiResult>(error);
  const auto after = of_driver<int (*)()>("fake_cuda_is_after_init");
  if (const long error = number_behind("late=", 0); error != 0 && after != nullptr && after() != 0)
    return static_cast<CUptiResult>(error);
  left = number_behind("dies=", -1);
  subscriber = {call, user};
  *out = reinterpret_cast<CUpti_SubscriberHandle>(&subscriber);
  fake_cupti_observe();
  return CUPTI_SUCCESS;
}

} // namespace

void fake_cupti_observe() {
  const auto observe =
      of_driver<void (*)(void (*)(int, const char*, const void*, const int*))>("fake_cuda_observe");
  if (observe != nullptr) observe(&on_call);
}

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT CUptiResult cuptiGetVersion(std::uint32_t* out) {
  return *out = version(), CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* out, CUpti_CallbackFunc call, void* user) {
  return subscribe(out, call, user, nullptr);
}
#ifndef FAKE_CUPTI_OLD
EXPORT CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* out, CUpti_CallbackFunc call, void* user,
                                     CUpti_SubscriberParams* params) {
  if (params->structSize != (version() >= 130200 ? 40 : 32)) return CUPTI_ERROR_INVALID_PARAMETER;
  return subscribe(out, call, user, params->oldSubscriberSize >= 64 ? params->oldSubscriberName : nullptr);
}
#endif
EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  return subscriber = {}, CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiFinalize() {
  return subscriber = {}, CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiEnableCallback(std::uint32_t enable, CUpti_SubscriberHandle,
                                       CUpti_CallbackDomain domain, CUpti_CallbackId id) {
#ifdef FAKE_CUPTI_OLD // one that knows no virtual memory yet
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API && id >= CUPTI_DRIVER_TRACE_CBID_cuMemAddressReserve)
    return CUPTI_ERROR_INVALID_PARAMETER;
#endif
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API && id < kIds) enabled[id] = enable != 0;
  if (domain == CUPTI_CB_DOMAIN_RESOURCE && id < 64) resources[id] = enable != 0;
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiGetDeviceId(CUcontext context, std::uint32_t* device) {
  *device =
      (static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(context)) & 0xFF) - 1; // as the fake driver
  return CUPTI_SUCCESS;
}
EXPORT int fake_cupti_callbacks() {
  return callbacks;
}
