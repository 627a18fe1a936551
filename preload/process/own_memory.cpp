// Purpose: the size of the recorder's private memory.
// Runs: on the thread that makes a pass, pass lock held.
#include "preload/device/device_blocks.h"
#include "preload/record/autograd_nodes.h"
#include "preload/record/interner.h"
#include "preload/record/model_modules.h"
#include "preload/record/stack_capture.h"
#include "preload/stack/native_unwinder.h"
#include "preload/state/upcalls.h"
#include "preload/trace/coding_models.h"
#include "preload/trace/trace_windows.h"

namespace memtrace::record {

namespace {

// The buffer of a pass, the touched pages of the background thread's stack and TLS, the samples, the rest of
// .bss.
constexpr std::uint64_t kFixedBytes = 512 * 1024;

} // namespace

std::uint64_t own_bytes() {
  return folded.bytes() + folded.live_bytes() + definition_bytes() + stack_cache_bytes() + node_bytes() +
         module_bytes() + unwinder_bytes() + model_bytes() + device_memory_bytes() + window_buffer_bytes() +
         kFixedBytes;
}

} // namespace memtrace::record
