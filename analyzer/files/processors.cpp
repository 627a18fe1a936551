// Purpose: how many threads a command may keep busy.
#include "analyzer/files/processors.h"

#include <sched.h>

#include <algorithm>
#include <atomic>

namespace memtrace::files {
namespace {

constexpr std::size_t kMostJobs = 8; // an analysis takes some 50 MiB, of a large trace more

constinit std::atomic<std::size_t> limit{0}; // 0: none
constinit std::atomic<std::size_t> busy{0};

std::size_t processors() {
  cpu_set_t all;
  // Without an answer, a second thread costs little where there is only one processor.
  if (::sched_getaffinity(0, sizeof all, &all) != 0) return 2;
  return static_cast<std::size_t>(std::max(CPU_COUNT(&all), 1));
}

} // namespace

std::size_t jobs() {
  const std::size_t most = limit.load(std::memory_order_relaxed);
  return most != 0 ? most : std::min(processors(), kMostJobs);
}

void limit_jobs(std::size_t jobs) {
  limit.store(jobs, std::memory_order_relaxed);
}

bool has_spare_processor() {
  return std::max<std::size_t>(busy.load(std::memory_order_relaxed), 1) < jobs();
}

BusyThread::BusyThread() {
  busy.fetch_add(1, std::memory_order_relaxed);
}

BusyThread::~BusyThread() {
  busy.fetch_sub(1, std::memory_order_relaxed);
}

} // namespace memtrace::files
