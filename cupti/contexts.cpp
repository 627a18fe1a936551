// Purpose: the device of each context, and the bytes of code that were loaded there.
// Runs: inside CUPTI's callbacks.
#include "cupti/contexts.h"

#include <atomic>

#include "cupti/bridge.h"
#include "cupti/subscriber.h"

namespace memtrace::cupti {
namespace {

constexpr std::size_t kMost = 64; // contexts at once; usual is one per device

struct KnownContext {
  std::atomic<CUcontext> context{nullptr};
  std::atomic<int> device{-1};
};
constinit KnownContext known[kMost];
constinit std::atomic<std::uint64_t> code[kMaxDevices];

void remember(CUcontext context, int device) {
  for (KnownContext& one : known) {
    CUcontext nobody = nullptr;
    // The device is stored first, so that another thread that sees the context also sees its device.
    if (one.context.load(std::memory_order_relaxed) != nullptr) continue;
    one.device.store(device, std::memory_order_relaxed);
    if (one.context.compare_exchange_strong(nobody, context, std::memory_order_release)) return;
  }
}

bool is_device(int device) {
  return device >= 0 && device < kMaxDevices;
}

} // namespace

int device_of(CUcontext context) {
  if (context == nullptr) return -1;
  for (const KnownContext& one : known)
    if (one.context.load(std::memory_order_acquire) == context)
      return one.device.load(std::memory_order_relaxed);
  const int device = ask_device(context);
  if (device >= 0) remember(context, device);
  return device;
}

void forget_context(CUcontext context) {
  for (KnownContext& one : known)
    if (one.context.load(std::memory_order_acquire) == context)
      one.context.store(nullptr, std::memory_order_release);
}

void code_loaded(int device, std::uint64_t bytes) {
  if (is_device(device)) code[device].fetch_add(bytes, std::memory_order_relaxed);
}
void code_unloaded(int device, std::uint64_t bytes) {
  if (is_device(device)) code[device].fetch_sub(bytes, std::memory_order_relaxed);
}
std::uint64_t code_on(int device) {
  return is_device(device) ? code[device].load(std::memory_order_relaxed) : 0;
}

} // namespace memtrace::cupti
