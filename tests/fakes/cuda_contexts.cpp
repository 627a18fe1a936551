// Purpose: its devices, contexts and modules: what they take of a card, and what goes with a context.
// Stands for libcuda.so.1 where there is no CUDA.
#include <cstring>

#include <dlfcn.h>

#include "tests/fakes/cuda_card.h"

namespace fake::driver {
namespace {

struct State {
  Context context;
  int holders;  // of a primary one
  size_t local; // beyond what a context has from the start
};
struct Module {
  std::size_t on_card;
  Context context; // 0: the entry is free
};
State states[64];
Module modules[1024];
Context next_number = 1;
thread_local Context chosen = 0;

State* state_of(Context context) {
  for (State& state : states)
    if (state.context == context && context != 0) return &state;
  return nullptr;
}

int create(Context context) {
  if (!initialized) return kNotInitialized;
  if (device_of(context) < 0 || device_of(context) >= settings().devices) return kInvalidDevice;
  if (state_of(context) != nullptr) return kSuccess;
  for (State& state : states) {
    if (state.context != 0) continue;
    state = {context, 0, 0};
    used[device_of(context)] += settings().context;
    return kSuccess;
  }
  std::abort();
}

void unload(Module& module) {
  used[device_of(module.context)] -= module.on_card;
  module = {};
}

// All that is its own goes with it; what pools gave, and physical memory, does not.
int destroy(Context context) {
  State* const state = state_of(context);
  if (state == nullptr) return kInvalidContext;
  for (Block& block : blocks)
    if (block.address != 0 && block.context == context) end(&block);
  for (Module& module : modules)
    if (module.context == context) unload(module);
  used[device_of(context)] -= settings().context + state->local;
  *state = {};
  return kSuccess;
}

bool init_is_over = false;

} // namespace

Context current() {
  return state_of(chosen) != nullptr ? chosen : 0;
}

int cuInit(unsigned) {
  const Lock lock(mutex);
  if (initialized) return kSuccess;
  initialized = true;
  // As the real one does: a tool's library, by name.
  const char* const tool = std::getenv("CUDA_INJECTION64_PATH");
  void* const library = tool != nullptr ? dlopen(tool, RTLD_NOW) : nullptr;
  void* const start = library != nullptr ? dlsym(library, "InitializeInjection") : nullptr;
  if (start != nullptr) reinterpret_cast<int (*)()>(start)();
  init_is_over = true;
  return kSuccess;
}
int cuDriverGetVersion(int* version) {
  return *version = 13000, kSuccess;
}
int cuDeviceGet(int* device, int ordinal) {
  return ordinal < 0 || ordinal >= settings().devices ? kInvalidDevice : (*device = ordinal, kSuccess);
}
int cuDeviceGetCount(int* count) {
  return *count = settings().devices, kSuccess;
}
int cuDeviceGetName(char* name, int bytes, int) {
  return std::strncpy(name, "Fake A100-SXM4-80GB", static_cast<size_t>(bytes)), kSuccess;
}
int cuDeviceGetUuid_v2(Uuid* uuid, int device) {
  std::memset(uuid, 0x10 + device, sizeof *uuid);
  return kSuccess;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) {
  return *bytes = settings().card, kSuccess;
}
int cuDevicePrimaryCtxRetain(void** out, int device) {
  const Lock lock(mutex);
  const int result = create(primary_of(device));
  if (result != kSuccess) return result;
  ++state_of(primary_of(device))->holders;
  *out = reinterpret_cast<void*>(primary_of(device));
  return kSuccess;
}
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  const Lock lock(mutex);
  if (!initialized) return kNotInitialized;
  *flags = 0;
  *active = state_of(primary_of(device)) != nullptr;
  return kSuccess;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  const Lock lock(mutex);
  State* const state = state_of(primary_of(device));
  if (state == nullptr) return kInvalidContext;
  return --state->holders == 0 ? destroy(state->context) : kSuccess;
}
int cuDevicePrimaryCtxReset_v2(int device) {
  const Lock lock(mutex);
  destroy(primary_of(device)); // one that is not active needs none
  return kSuccess;
}
int cuCtxCreate_v2(void** out, unsigned, int device) {
  const Lock lock(mutex);
  const Context context = next_number++ << 8 | primary_of(device);
  const int result = create(context);
  if (result != kSuccess) return result;
  *out = reinterpret_cast<void*>(chosen = context);
  return kSuccess;
}
int cuCtxDestroy_v2(void* context) {
  const Lock lock(mutex);
  const auto gone = reinterpret_cast<Context>(context);
  return gone >> 8 == 0 ? kInvalidContext : destroy(gone); // no primary one
}
int cuCtxSetCurrent(void* wanted) {
  return chosen = reinterpret_cast<Context>(wanted), kSuccess;
}
int cuCtxGetCurrent(void** out) {
  const Lock lock(mutex);
  return *out = reinterpret_cast<void*>(current()), kSuccess;
}
int cuCtxGetDevice(int* device) {
  const Lock lock(mutex);
  return current() == 0 ? kInvalidContext : (*device = current_device(), kSuccess);
}
// Of the stack of each thread that the card can run at once; 1 KiB each is in what a context takes.
int cuCtxSetLimit(int limit, size_t value) {
  const Lock lock(mutex);
  State* const state = state_of(chosen);
  if (state == nullptr) return kInvalidContext;
  if (limit != 0 || value < 1024) return kInvalidValue;
  used[current_device()] -= state->local;
  state->local = (value - 1024) * kThreads;
  used[current_device()] += state->local;
  return kSuccess;
}
int cuMemGetInfo_v2(size_t* free, size_t* total) {
  const Lock lock(mutex);
  if (current() == 0) return kInvalidContext;
  *total = settings().card;
  *free = settings().card - used[current_device()];
  return kSuccess;
}
int cuModuleLoadData(void** module, const void* image) {
  const Lock lock(mutex);
  if (current() == 0) return kInvalidContext;
  for (Module& one : modules) {
    if (one.context != 0) continue;
    one = {described(image).on_card, current()};
    used[current_device()] += one.on_card;
    return *module = &one, kSuccess;
  }
  std::abort();
}
int cuModuleUnload(void* module) {
  const Lock lock(mutex);
  return unload(*static_cast<Module*>(module)), kSuccess;
}

} // namespace fake::driver

int fake::fake_cuda_is_after_init() {
  return driver::init_is_over;
}
int fake::fake_cuda_holders(int device) {
  const driver::State* const state = driver::state_of(driver::primary_of(device));
  return state == nullptr ? 0 : state->holders;
}
