// Purpose: reads which nodes autograd makes, and notes which node its engine evaluates.
// Runs: inside PyTorch's allocators, outside malloc, and in the engine's evaluation of each node.
#include "preload/hooks/cuda/torch_autograd.h"

#include <dlfcn.h>
#include <errno.h>

#include "preload/hooks/symbols/find_symbol.h"
#include "preload/os/libc/libc_table.h"
#include "preload/record/autograd_nodes.h"
#include "preload/state/messages.h"
#include "preload/state/recorder_state.h"
#include "preload/state/thread.h"

#include "preload/os/gate/forbidden.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace memtrace::hooks {
namespace {

using record::local;

using Number = std::uint64_t (*)();
using Evaluate = void (*)(void*, void*, void*, void*, const void*);

constexpr const char* kTorch[] = {"libtorch_cpu.so", "libtorch.so", nullptr};

constinit Number next_number =
    nullptr; // at::sequence_number::peek(): the number of the next node on this thread
constinit Number thread_number = nullptr; // at::RecordFunction::currentThreadId()
constinit bool searched_numbers = false;
constinit Evaluate real_evaluate = nullptr;

// PyTorch is opened RTLD_LOCAL. A function of libc10 is the caller, so libtorch_cpu is loaded, too, if it ever
// is.
[[gnu::cold, gnu::noinline]] void find_numbers() {
  const int errno_before = errno;
  Number next = nullptr, thread = nullptr;
  if (find_in(&thread, "_ZN2at14RecordFunction15currentThreadIdEv", kTorch) &&
      find_in(&next, "_ZN2at15sequence_number4peekEv", kTorch)) {
    __atomic_store_n(&thread_number, thread, __ATOMIC_RELAXED);
    __atomic_store_n(&next_number, next, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&searched_numbers, true, __ATOMIC_RELAXED);
  errno = errno_before;
}

// The caller is the engine, so its own library defines the function, whatever the library's name is.
[[gnu::cold, gnu::noinline]] Evaluate find_evaluate(const char* name, const void* caller) {
  const int errno_before = errno;
  Evaluate found = nullptr;
  Dl_info where{};
  if (!find_in(&found, name, kTorch) && record::libc.dladdr(caller, &where) != 0 &&
      where.dli_fname != nullptr) {
    const char* const library[] = {where.dli_fname, nullptr};
    find_in(&found, name, library);
  }
  if (found == nullptr) find_next(&found, name);
  if (found == nullptr) record::say({"PyTorch's engine cannot be called: this backward pass is incomplete"});
  errno = errno_before;
  return found;
}

} // namespace

std::uint64_t take_new_node_key() {
  if (!__atomic_load_n(&searched_numbers, __ATOMIC_RELAXED)) find_numbers();
  const Number next = __atomic_load_n(&next_number, __ATOMIC_ACQUIRE);
  if (next == nullptr) return 0;
  const std::uint64_t number = next();
  if (number == local.nodes_made) return 0;
  local.nodes_made = number;
  return number == 0 ? 0 : record::node_key(number - 1, __atomic_load_n(&thread_number, __ATOMIC_RELAXED)());
}

} // namespace memtrace::hooks

using namespace memtrace::hooks;

// torch::autograd::Engine::evaluate_function(shared_ptr<GraphTask>&, Node*, InputBuffer&,
// shared_ptr<ReadyQueue> const&). The real function is called last, so this one leaves no frame: exceptions of
// PyTorch do not pass it.
EXPORT void
_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEEPNS0_4NodeERNS0_11InputBufferERKS2_INS0_10ReadyQueueEE(
    void* engine, void* task, void* node, void* inputs, const void* queue) {
  Evaluate real = __atomic_load_n(&real_evaluate, __ATOMIC_RELAXED);
  if (real == nullptr) [[unlikely]] {
    real = find_evaluate(
        "_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEEPNS0_"
        "4NodeERNS0_11InputBufferERKS2_INS0_10ReadyQueueEE",
        __builtin_return_address(0));
    if (real == nullptr) return;
    __atomic_store_n(&real_evaluate, real, __ATOMIC_RELAXED);
  }
  if (memtrace::record::active())
    memtrace::record::begin_node(node, static_cast<const std::uint64_t*>(__builtin_dwarf_cfa()) - 1);
  real(engine, task, node, inputs, queue);
}
