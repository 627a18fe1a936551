// Purpose: decides whether the recorder may make system calls.
// Runs: before each system call of the recorder.
#include "preload/os/gate/syscall_gate.h"

#include "preload/os/gate/start_page.h"

namespace memtrace::record::os {

ON_START_PAGE constinit std::uint32_t call_stage = 0;

namespace {

ON_START_PAGE constinit std::uint32_t inside = 0; // calls in progress
ON_START_PAGE constinit std::uint32_t files = 0;  // open descriptors

} // namespace

// Counts the call before it reads the stage, so that stop_calls() sees each call that it does not refuse.
Passage::Passage(bool opens) {
  __atomic_fetch_add(&inside, 1u, __ATOMIC_SEQ_CST);
  free_ = __atomic_load_n(&call_stage, __ATOMIC_SEQ_CST) < (opens ? 1 : 2);
}
Passage::~Passage() {
  __atomic_fetch_sub(&inside, 1u, __ATOMIC_RELEASE);
}

void opened(long fd) {
  if (fd >= 0) __atomic_fetch_add(&files, 1u, __ATOMIC_RELAXED);
}
void closed() {
  __atomic_fetch_sub(&files, 1u, __ATOMIC_RELEASE);
}

std::uint32_t calls_under_way() {
  return __atomic_load_n(&inside, __ATOMIC_SEQ_CST);
}
std::uint32_t descriptors_open() {
  return __atomic_load_n(&files, __ATOMIC_SEQ_CST);
}

void forget_calls() {
  inside = files = 0;
}

} // namespace memtrace::record::os
