// Purpose: notes which nodes autograd makes, and which node its engine evaluates.
// Runs: in autograd, where it makes and evaluates nodes, and inside PyTorch's allocators. Outside malloc.
#include "preload/hooks/cuda/torch_autograd.h"

#include <dlfcn.h>
#include <errno.h>

#include "preload/api/export.h"
#include "preload/hooks/cuda/torch_symbols.h"
#include "preload/hooks/symbols/find_symbol.h"
#include "preload/os/libc/libc_table.h"
#include "preload/record/autograd_nodes.h"
#include "preload/state/arming.h"
#include "preload/state/messages.h"
#include "preload/state/thread.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::hooks {
namespace {

using record::local;

using Number = std::uint64_t (*)();
using Evaluate = void (*)(void*, void*, void*, void*, const void*);

constinit Number real_number = nullptr;   // at::sequence_number::get_and_increment()
constinit Number thread_number = nullptr; // at::RecordFunction::currentThreadId()
constinit Evaluate real_evaluate = nullptr;

// Finds a function of PyTorch, which Python opens RTLD_LOCAL. The caller calls the function, so if PyTorch's
// library has another name, it is the caller's own library that defines the function. Keeps errno.
template <class F>
[[gnu::cold, gnu::noinline]] F find_for_caller(const char* name, const void* caller) {
  const int errno_before = errno;
  F found = nullptr;
  Dl_info where{};
  if (!find_in(&found, name, kTorchLibraries) && record::libc.dladdr(caller, &where) != 0 &&
      where.dli_fname != nullptr) {
    const char* const library[] = {where.dli_fname, nullptr};
    find_in(&found, name, library);
  }
  if (found == nullptr) find_next(&found, name);
  errno = errno_before;
  return found;
}

} // namespace

std::uint64_t take_new_node_key() {
  const std::uint64_t made = record::take_made_node();
  const Number thread = __atomic_load_n(&thread_number, __ATOMIC_RELAXED);
  return made == 0 || thread == nullptr ? 0 : record::node_key(made - 1, thread());
}

} // namespace memtrace::hooks

using namespace memtrace::hooks;

// at::sequence_number::get_and_increment(): draws the number of a node. Without the real function each node has
// the number 0. Autograd's results stay right: the numbers only choose among the nodes that are ready.
EXPORT std::uint64_t TORCH_NEXT_NODE_NUMBER() {
  Number real = __atomic_load_n(&real_number, __ATOMIC_RELAXED);
  if (real == nullptr) [[unlikely]] {
    const void* const caller = __builtin_return_address(0);
    real = find_for_caller<Number>(TORCH_NAME(TORCH_NEXT_NODE_NUMBER), caller);
    if (real == nullptr) return 0;
    const auto thread = find_for_caller<Number>(kTorchThreadId, caller);
    __atomic_store_n(&thread_number, thread, __ATOMIC_RELAXED);
    __atomic_store_n(&real_number, real, __ATOMIC_RELAXED);
  }
  const std::uint64_t number = real();
  if (memtrace::record::keeps_blocks()) memtrace::record::make_node(number);
  return number;
}

// torch::autograd::Engine::evaluate_function(shared_ptr<GraphTask>&, Node*, InputBuffer&,
// shared_ptr<ReadyQueue> const&). The real function is called last, so this one leaves no frame: exceptions of
// PyTorch do not pass it.
EXPORT void TORCH_EVALUATE_FUNCTION(void* engine, void* task, void* node, void* inputs, const void* queue) {
  Evaluate real = __atomic_load_n(&real_evaluate, __ATOMIC_RELAXED);
  if (real == nullptr) [[unlikely]] {
    real = find_for_caller<Evaluate>(TORCH_NAME(TORCH_EVALUATE_FUNCTION), __builtin_return_address(0));
    if (real == nullptr) {
      memtrace::record::say({"PyTorch's engine cannot be called: this backward pass is incomplete"});
      return;
    }
    __atomic_store_n(&real_evaluate, real, __ATOMIC_RELAXED);
  }
  if (memtrace::record::keeps_blocks())
    memtrace::record::begin_node(node, static_cast<const std::uint64_t*>(__builtin_dwarf_cfa()) - 1);
  real(engine, task, node, inputs, queue);
}
