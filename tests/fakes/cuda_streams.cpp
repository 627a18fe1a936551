// Purpose: its streams, events and captures. All work is done when it is asked for, so nothing ever waits.
// Stands for libcuda.so.1 where there is no CUDA.
#include <chrono>
#include <map>

#include "tests/fakes/cuda_card.h"

namespace fake::driver {
namespace {

struct Stream {
  int priority;
};
struct Graph {
  unsigned long long id;
};
struct Event {
  std::chrono::steady_clock::time_point recorded;
};

std::map<void*, Graph*> captures; // by stream
unsigned long long graphs = 0;

} // namespace

int cuStreamCreateWithPriority(void** out, unsigned, int priority) {
  return *out = new Stream{priority}, kSuccess;
}
int cuStreamDestroy_v2(void* stream) {
  return delete static_cast<Stream*>(stream), kSuccess;
}
int cuStreamGetPriority(void* stream, int* priority) {
  // The handles 0, 1 and 2 are the default streams.
  return *priority = reinterpret_cast<Address>(stream) > 2 ? static_cast<Stream*>(stream)->priority : 0,
         kSuccess;
}
int cuStreamWaitEvent(void*, void*, unsigned) {
  return kSuccess;
}

int cuStreamBeginCapture_v2(void* stream, int) {
  const Lock lock(mutex);
  captures[stream] = new Graph{++graphs};
  return kSuccess;
}
int cuStreamEndCapture(void* stream, void** graph) {
  const Lock lock(mutex);
  const auto capture = captures.find(stream);
  if (capture == captures.end()) return kInvalidValue;
  *graph = capture->second;
  captures.erase(capture);
  return kSuccess;
}
int cuStreamIsCapturing(void* stream, int* status) {
  const Lock lock(mutex);
  *status = capturing != 0 || captures.count(stream) != 0;
  return kSuccess;
}
int cuStreamGetCaptureInfo_v2(void* stream, int* status, unsigned long long* id, void** graph,
                              const void** nodes, size_t* count) {
  const Lock lock(mutex);
  const auto capture = captures.find(stream);
  *status = capture != captures.end();
  if (id != nullptr) *id = *status != 0 ? capture->second->id : 0;
  if (graph != nullptr) *graph = *status != 0 ? capture->second : nullptr;
  if (nodes != nullptr) *nodes = nullptr;
  if (count != nullptr) *count = 0;
  return kSuccess;
}

int cuEventCreate(void** out, unsigned) {
  return *out = new Event{}, kSuccess;
}
int cuEventRecord(void* event, void*) {
  return static_cast<Event*>(event)->recorded = std::chrono::steady_clock::now(), kSuccess;
}
int cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  const auto passed = static_cast<Event*>(end)->recorded - static_cast<Event*>(begin)->recorded;
  return *milliseconds = std::chrono::duration<float, std::milli>(passed).count(), kSuccess;
}
int cuEventDestroy_v2(void* event) {
  return delete static_cast<Event*>(event), kSuccess;
}

int cuMemcpyAsync(Address to, Address from, size_t bytes, void*) {
  return copy(to, from, bytes), kSuccess;
}
int cuMemsetD8Async(Address to, unsigned char value, size_t bytes, void*) {
  return fill(to, &value, sizeof value, bytes), kSuccess;
}
int cuMemsetD32Async(Address to, unsigned value, size_t count, void*) {
  return fill(to, &value, sizeof value, count * sizeof value), kSuccess;
}

} // namespace fake::driver
