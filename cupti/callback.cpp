// Purpose: passes the events of CUPTI's callbacks to the recorder's bridge.
// Runs: inside CUPTI's callbacks.
#include "cupti/callback.h"

#include "cupti/contexts.h"
#include "cupti/devices.h"
#include "cupti/translate.h"

namespace memtrace::cupti {
namespace {

constinit const memtrace_bridge* bridge = nullptr;

void driver_call(CUpti_CallbackId id, const CUpti_CallbackData& data) {
  const bool gives_back = frees(id);
  if (data.callbackSite == CUPTI_API_ENTER) {
    // Another thread may get the address as soon as it is free, and the stamp of that birth must be later.
    if (gives_back && data.correlationData != nullptr) *data.correlationData = bridge->stamp();
    return;
  }
  if (data.functionReturnValue == nullptr) return;
  const std::uint64_t stamp = gives_back && data.correlationData != nullptr ? *data.correlationData : 0;
  const ApiCall call{id, data.functionParams, *static_cast<const CUresult*>(data.functionReturnValue),
                     device_of(data.context), stamp};
  auto event = translate(call);
  if (!event) return;
  if (event->what == MEMTRACE_DEVICE_BORN) event->handle = reinterpret_cast<std::uint64_t>(data.context);
  bridge->device_event(&*event);
  if (event->what == MEMTRACE_DEVICE_FAILED) ask_soon();
}

void resource(CUpti_CallbackId id, const CUpti_ResourceData& data) {
  if (id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) {
    const memtrace_device_event gone{
        MEMTRACE_DEVICE_CONTEXT, 0, -1, 0, 0, 0, reinterpret_cast<std::uint64_t>(data.context),
        bridge->stamp(),         0, 0};
    bridge->device_event(&gone);
    forget_context(data.context);
    return;
  }
  const int device = device_of(data.context);
  if (id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) {
    const memtrace_device_event made{MEMTRACE_DEVICE_CONTEXT_BORN,
                                     0,
                                     device,
                                     0,
                                     0,
                                     0,
                                     reinterpret_cast<std::uint64_t>(data.context),
                                     0,
                                     0,
                                     0};
    bridge->device_event(&made);
    ask_soon();
  }
  const auto* const module = static_cast<const CUpti_ModuleResourceData*>(data.resourceDescriptor);
  if (module == nullptr) return;
  if (id == CUPTI_CBID_RESOURCE_MODULE_LOADED) code_loaded(device, module->cubinSize);
  if (id == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING) code_unloaded(device, module->cubinSize);
  ask_soon();
}

} // namespace

void report_to(const memtrace_bridge* to) {
  bridge = to;
}

void CUPTIAPI on_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (data == nullptr || bridge == nullptr) return;
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) driver_call(id, *static_cast<const CUpti_CallbackData*>(data));
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) resource(id, *static_cast<const CUpti_ResourceData*>(data));
}

} // namespace memtrace::cupti
