// Purpose: the models of the threads' records, so that a segment can continue the coding of the one before.
// Runs: in the drain and, when its ring is full, on the program's thread; the pass lock is held.
#include "preload/trace/coding_models.h"

#include "preload/os/mappings.h"

namespace memtrace::record {
namespace {

constexpr std::uint64_t kNever = ~std::uint64_t{0};
constinit ThreadModel* models[kModels] = {};
constinit std::uint64_t uses = 0;

// Returns the thread's model, else a new one, else the least recently used one; null if there is no memory for
// the first model.
ThreadModel* find(std::uint32_t thread) {
  ThreadModel* oldest = nullptr;
  for (ThreadModel*& model : models) {
    if (model == nullptr) {
      model = static_cast<ThreadModel*>(os::map_private(sizeof(ThreadModel)));
      return model != nullptr ? model : oldest;
    }
    if (model->thread == thread + 1) return model;
    if (oldest == nullptr || model->used < oldest->used) oldest = model;
  }
  return oldest;
}

} // namespace

ThreadModel* model_for(std::uint32_t thread, std::uint32_t stretch, std::uint64_t first) {
  ThreadModel* const found = find(thread);
  if (found == nullptr) return nullptr;
  const bool continues = found->thread == thread + 1 && found->stretch == stretch && found->next == first &&
                         first - found->begin < kRestartRecords;
  if (!continues) {
    found->model.restart();
    found->begin = first;
  }
  found->thread = thread + 1;
  found->stretch = stretch;
  found->next = kNever; // until its segment is written
  found->used = ++uses;
  return found;
}

void coded(ThreadModel& model, std::uint64_t next) {
  model.next = next;
}

void forget_models() {
  for (ThreadModel* const model : models)
    if (model != nullptr) model->next = kNever;
}

std::uint64_t model_bytes() {
  std::uint64_t bytes = 0;
  for (const ThreadModel* const model : models) bytes += model != nullptr ? sizeof(ThreadModel) : 0;
  return bytes;
}

} // namespace memtrace::record
