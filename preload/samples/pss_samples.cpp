// Purpose: the PSS of this process: each shared page is divided among the processes that share it.
// Runs: on the background thread.
#include "preload/samples/pss_samples.h"

#include "preload/format/sample_events.h"
#include "preload/kernel/proc_file.h"
#include "preload/os/clocks.h"
#include "preload/samples/kernel_samples.h"
#include "preload/state/new_record.h"

namespace memtrace::record {
namespace {

constexpr std::uint64_t kLeastGapNs = 500'000'000;
constexpr std::uint64_t kPart = 1000;
constexpr std::uint64_t kEarlyPart = 90;
constexpr std::uint64_t kEarlyNs = 10'000'000'000;
constexpr std::uint64_t kDearNs = 50'000'000;

constinit bool family = false;
constinit std::uint64_t began = 0;
constinit std::uint64_t taken = 0; // time of the last sample
constinit std::uint64_t cost = 0;  // of the last sample

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
  cost = os::thread_cpu_ns() - before;
  taken = now;
}

} // namespace

void family_began() {
  __atomic_store_n(&family, true, __ATOMIC_RELAXED);
}

void sample_share_if_due() {
  if (!__atomic_load_n(&family, __ATOMIC_RELAXED)) return;
  const std::uint64_t now = os::monotonic_ns();
  if (began == 0) began = now;
  const std::uint64_t gap = cost * (now - began < kEarlyNs ? kEarlyPart : kPart);
  if (taken == 0 || now - taken >= (gap > kLeastGapNs ? gap : kLeastGapNs)) sample_share(now);
}

void sample_last_share() {
  if (__atomic_load_n(&family, __ATOMIC_RELAXED) && cost < kDearNs) sample_share(os::monotonic_ns());
}

void forget_shares() {
  family = true;
  began = taken = cost = 0;
}

} // namespace memtrace::record
