// Purpose: the PSS of this process: each shared page is divided among the processes that share it.
// Runs: on the background thread.
#include "preload/samples/pss_samples.h"

#include "preload/format/sample_events.h"
#include "preload/kernel/proc_file.h"
#include "preload/kernel/statm.h"
#include "preload/os/clocks.h"
#include "preload/samples/kernel_samples.h"
#include "preload/samples/share_schedule.h"
#include "preload/state/new_record.h"

namespace memtrace::record {
namespace {

constinit bool family = false;
constinit ShareSchedule schedule{};

void sample_share(std::uint64_t now) {
  const std::uint64_t before = os::thread_cpu_ns();
  if (const char* const text = read_kernel_file("/proc/self/smaps_rollup"); text != nullptr) {
    const format::RingRecord record = record_of(format::SampleShareEvent{
        .rss = kib_after(text, "Rss:"),
        .pss = kib_after(text, "Pss:"),
        .pss_anon = kib_after(text, "Pss_Anon:"),
        .pss_file = kib_after(text, "Pss_File:"),
        .pss_shmem = kib_after(text, "Pss_Shmem:"),
        .private_dirty = kib_after(text, "Private_Dirty:"),
    });
    append_samples(&record, 1);
  }
  schedule.took(now, os::thread_cpu_ns() - before, resident_now());
}

} // namespace

void family_began() {
  __atomic_store_n(&family, true, __ATOMIC_RELAXED);
}

void sample_share_if_due() {
  if (!__atomic_load_n(&family, __ATOMIC_RELAXED)) return;
  const std::uint64_t now = os::monotonic_ns();
  if (schedule.is_due(now, &resident_now)) sample_share(now);
}

void sample_last_share() {
  if (!__atomic_load_n(&family, __ATOMIC_RELAXED) || schedule.is_dear()) return;
  const std::uint64_t now = os::monotonic_ns();
  if (schedule.has_news(now, resident_now())) sample_share(now);
}

void forget_shares() {
  family = true;
  schedule = {};
}

} // namespace memtrace::record
