// Purpose: subscribes to the driver's calls. Only one subscriber is allowed, and another tool may hold the
// place.
// Runs: outside callbacks.
#include "cupti/subscriber.h"

#include "cupti/text.h"
#include "cupti/translate.h"

namespace memtrace::cupti {
namespace {

constexpr char kName[] = "memtrace";
constinit Library in_use{};

CUptiResult subscribe_by(const Library& cupti, CUpti_CallbackFunc callback, Subscription& out) {
  if (cupti.subscribe_v2 == nullptr) return cupti.subscribe(&out.handle, callback, nullptr);
  SubscriberParams params{};
  params.struct_size = params_size(cupti.version);
  params.name = kName;
  params.old_name = out.holder;
  params.old_name_size = sizeof out.holder;
  const CUptiResult result = cupti.subscribe_v2(&out.handle, callback, nullptr, &params);
  out.holder[sizeof out.holder - 1] = '\0';
  return result;
}

struct Wanted {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId id;
};
// Contexts and modules explain GPU memory beyond allocations. Fatal errors need no callback, because CUPTI then
// stops by itself.
constexpr Wanted kOthers[] = {
    {CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED},
    {CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING},
    {CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED},
    {CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING},
};

// Skips an id that an older CUPTI does not know. Without the first id, cuMemAlloc_v2, the subscription is
// useless.
CUptiResult enable_calls(Subscription& out) {
  const Library& cupti = out.library;
  for (const CUpti_CallbackId* id = kDriverCalls; *id != 0; ++id) {
    const CUptiResult result = cupti.enable(1, out.handle, CUPTI_CB_DOMAIN_DRIVER_API, *id);
    if (result == CUPTI_SUCCESS) continue;
    if (id == kDriverCalls) return result;
    ++out.unknown;
  }
  for (const Wanted& wanted : kOthers) cupti.enable(1, out.handle, wanted.domain, wanted.id);
  return CUPTI_SUCCESS;
}

} // namespace

Subscription subscribe(CUpti_CallbackFunc callback) {
  Subscription out;
  out.library = open_library();
  if (!out.library.usable()) return out;
  out.result = subscribe_by(out.library, callback, out);
  if (out.result != CUPTI_SUCCESS) {
    const bool held = out.result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    out.standing = held ? Standing::held : Standing::refused;
    return out;
  }
  out.holder[0] = '\0';
  keep(out);
  out.result = enable_calls(out);
  out.standing = Standing::active;
  if (out.result == CUPTI_SUCCESS) return out;
  unsubscribe(out);
  out.standing = Standing::refused;
  return out;
}

void unsubscribe(Subscription& subscription) {
  if (subscription.standing != Standing::active) return;
  subscription.library.unsubscribe(subscription.handle);
  subscription.standing = Standing::none;
}

void keep(const Subscription& subscription) {
  in_use = subscription.library;
}

int ask_device(CUcontext context) {
  std::uint32_t device = 0;
  if (in_use.device_of == nullptr || in_use.device_of(context, &device) != CUPTI_SUCCESS) return -1;
  return static_cast<int>(device);
}

void describe(const Subscription& subscription, BoundedText& out) {
  const Library& cupti = subscription.library;
  if (cupti.path == nullptr) {
    out.add("missing: no libcupti is found (it comes with the CUDA Toolkit, and with nvidia-cuda-cupti)");
    return;
  }
  switch (subscription.standing) {
    case Standing::active:
      out.add("active");
      break;
    case Standing::held:
      out.add("held by ").add(subscription.holder[0] != '\0' ? subscription.holder : "another tool");
      break;
    case Standing::refused:
      out.add("refused, error ").add(static_cast<std::uint64_t>(subscription.result)).add(": ");
      out.add(meaning_of(subscription.result));
      break;
    case Standing::none:
      out.add("unusable: it lacks the callback functions");
      break;
  }
  out.add("; ").add(cupti.path);
  if (cupti.version != 0) out.add(" version ").add(cupti.version);
  if (cupti.version != 0 && cupti.version / 100 < CUPTI_API_VERSION / 100)
    out.add(", older than that memtrace was built with (").add(std::uint64_t{CUPTI_API_VERSION}).add(")");
  if (subscription.unknown != 0) out.add(", without ").add(subscription.unknown).add(" of the calls");
}

} // namespace memtrace::cupti
