// Purpose: stops the recorder's system calls when the program enters a sandbox.
// Runs: around a call of the program that installs a seccomp filter.
#include "preload/os/sandbox.h"

#include "preload/os/gate/syscall_gate.h"
#include "preload/os/threads.h"

namespace memtrace::record::os {

namespace {

constexpr std::uint64_t kPatienceNs = 1'000'000'000; // the wait for other threads' calls, as for a lock

void wait_for_calls(bool with_descriptors) {
  const std::uint64_t until = monotonic_ns() + kPatienceNs;
  while ((calls_under_way() | (with_descriptors ? descriptors_open() : 0)) != 0 && monotonic_ns() < until)
    yield(); // as long as the call is allowed
}

} // namespace

void stop_calls(Counter counter) {
  process_id(); // process_id() remembers the pid from now on
  __atomic_store_n(&call_stage, 1u, __ATOMIC_SEQ_CST);
  wait_for_calls(true);
  stop_clocks(counter);
  __atomic_store_n(&call_stage, 2u, __ATOMIC_SEQ_CST);
  wait_for_calls(false);
}

void allow_calls() {
  __atomic_store_n(&call_stage, 0u, __ATOMIC_SEQ_CST);
}

void never_call() {
  call_stage = 2;
}

} // namespace memtrace::record::os
