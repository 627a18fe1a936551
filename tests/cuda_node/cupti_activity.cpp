// Purpose: records of kernels, which torch.profiler reads through Kineto. Other activities have none.
// Stands for libcupti.so.13, beside tests/fakes/cupti.cpp. Records do not need the one subscription.
#include "tests/fakes/cupti_activity.h"

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <string_view>

#include <time.h>

namespace {

std::mutex mutex;
bool enabled[CUPTI_ACTIVITY_KIND_COUNT];
CUpti_BuffersCallbackRequestFunc request;
CUpti_BuffersCallbackCompleteFunc complete;
CUpti_TimestampCallbackFunc clock_of_program;
std::uint8_t* buffer; // that is being filled
std::size_t size, filled;
std::uint32_t kernels;

std::uint64_t now() {
  if (clock_of_program != nullptr) return clock_of_program();
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1000000000 + static_cast<std::uint64_t>(time.tv_nsec);
}
void hand_over() {
  if (buffer != nullptr) complete(nullptr, 0, buffer, size, filled);
  buffer = nullptr;
}

} // namespace

void fake_cupti_record(int site, const char* name) {
  if (site != 1 || name != std::string_view("cuLaunchKernel")) return;
  const std::lock_guard lock(mutex);
  if (!enabled[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] || request == nullptr) return;
  if (buffer != nullptr && size - filled < sizeof(CUpti_ActivityKernel9)) hand_over();
  if (buffer == nullptr) {
    std::size_t most = 0;
    request(&buffer, &size, &most);
    filled = 0;
  }
  auto* const record = new (buffer + filled) CUpti_ActivityKernel9{};
  filled += sizeof *record;
  record->kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record->start = now();
  record->end = record->start + 1000;
  record->correlationId = ++kernels;
  record->gridX = record->gridY = record->gridZ = record->blockX = record->blockY = record->blockZ = 1;
  record->name = "kernel";
}

extern "C" {

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc wanted,
                                           CUpti_BuffersCallbackCompleteFunc done) {
  const std::lock_guard lock(mutex);
  request = wanted;
  complete = done;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc wanted) {
  const std::lock_guard lock(mutex);
  clock_of_program = wanted;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  const std::lock_guard lock(mutex);
  enabled[kind] = true;
  fake_cupti_observe();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  const std::lock_guard lock(mutex);
  enabled[kind] = false;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(std::uint32_t) {
  const std::lock_guard lock(mutex);
  hand_over();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNextRecord(std::uint8_t* from, std::size_t valid, CUpti_Activity** record) {
  auto* const next =
      *record == nullptr ? from : reinterpret_cast<std::uint8_t*>(*record) + sizeof(CUpti_ActivityKernel9);
  if (next + sizeof(CUpti_ActivityKernel9) > from + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  return *dropped = 0, CUPTI_SUCCESS;
}
CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind, std::uint64_t* last) {
  if (last != nullptr) *last = 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  return *text = "an answer of a stand-in", CUPTI_SUCCESS;
}
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain, std::uint32_t, const char** name) {
  return *name = "a call", CUPTI_SUCCESS;
}

} // extern "C"
