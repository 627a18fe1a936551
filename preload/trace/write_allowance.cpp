// Purpose: how many bytes this process may write.
// Runs: when recording begins, and when a file of the process is full.
#include "preload/trace/write_allowance.h"

#include <sys/resource.h>

#include "preload/job/host_quota.h"
#include "preload/job/job_directory.h"
#include "preload/os/threads.h"
#include "preload/state/settings.h"
#include "preload/trace/trace_file.h"

namespace memtrace::record {
namespace {

// Each process first claims an eighth of its need, but at least kSensibleTrace. When each claimed all of it, 8
// ranks with 8 workers each claimed 4.5 of 4 GiB.
constexpr std::uint64_t kFirstPart = 8;
constexpr std::uint64_t kSmallPart = 8; // of MEMTRACE_MAX_TRACE: for workers and children

constinit bool worker = false;
constinit bool trainer = false;
constinit bool refused = false;
constinit bool refusal_said = false;

} // namespace

std::uint64_t bytes_wanted() {
  const bool leads = place.founder || place.rank != ~0u || __atomic_load_n(&trainer, __ATOMIC_RELAXED);
  const bool small = __atomic_load_n(&worker, __ATOMIC_RELAXED) || !leads;
  std::uint64_t bytes = small ? settings.max_trace / kSmallPart : settings.max_trace;
  if (bytes < kLeastTrace) bytes = kLeastTrace;
  // A write beyond the limit on file sizes would be torn.
  const std::uint64_t limit = os::resource_limit(RLIMIT_FSIZE);
  return bytes < limit ? bytes : limit;
}

std::uint64_t bytes_at_first() {
  const std::uint64_t wanted = bytes_wanted();
  const std::uint64_t part = wanted / kFirstPart > kSensibleTrace ? wanted / kFirstPart : kSensibleTrace;
  return part < wanted ? part : wanted;
}

bool raise_bound() {
  const std::uint64_t wanted = bytes_wanted(), now = trace_file.max_bytes;
  if (refused || now >= wanted || quota().detail != Detail::full) return false;
  const std::uint64_t next = 2 * now < wanted ? 2 * now : wanted;
  if (!raise_claim(next)) {
    refused = true;
    return false;
  }
  set_bound(next);
  return true;
}

bool bound_became_known() {
  if (!refused || refusal_said) return false;
  refusal_said = true;
  return true;
}

void becomes_worker() {
  __atomic_store_n(&worker, true, __ATOMIC_RELAXED);
}
void becomes_trainer() {
  __atomic_store_n(&trainer, true, __ATOMIC_RELAXED);
}

void forget_bound() {
  worker = trainer = refused = refusal_said = false;
}

} // namespace memtrace::record
