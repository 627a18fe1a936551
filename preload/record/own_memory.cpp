// Runs: on the thread that makes a pass, pass lock held.
// Purpose: how much private memory the recorder has.
#include "preload/record/definitions.h"
#include "preload/record/device_memory.h"
#include "preload/record/frame_rules.h"
#include "preload/record/models.h"
#include "preload/record/stack.h"
#include "preload/record/upcalls.h"
#include "preload/record/windows.h"

namespace memtrace::record {

namespace {

// The pass's buffer, the background thread's stack and TLS as far as they are touched, the samples, .bss of the
// rest.
constexpr std::uint64_t kFixedBytes = 512 * 1024;

} // namespace

std::uint64_t own_bytes() {
  return folded.bytes() + folded.live_bytes() + definition_bytes() + stack_cache_bytes() + frame_rules_bytes() +
         model_bytes() + device_memory_bytes() + window_buffer_bytes() + kFixedBytes;
}

} // namespace memtrace::record
