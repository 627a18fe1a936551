// Purpose: counts RSS by smaps_rollup at the highest samples, if the kernel's counters are not exact.
// Runs: on the background thread.
#include "preload/kernel/exact_rss.h"

#include "preload/kernel/proc_file.h"
#include "preload/kernel/rss_counters.h"
#include "preload/os/clocks.h"

namespace memtrace::record {
namespace {

constinit RssCounters counters{};
constinit bool cpus_known = false;

// Returns the number of CPUs up to the last one that is online: the last number of "0-63" or "0,2-5", plus one.
// Returns 1 if the kernel does not tell.
std::uint64_t online_cpus() {
  const char* text = read_kernel_file("/sys/devices/system/cpu/online");
  std::uint64_t last = 0;
  while (text != nullptr && *text != '\0') {
    if (const std::uint64_t number = number_at(text); number != format::kNotSaid) last = number;
    while (*text >= '0' && *text <= '9') ++text;
    if (*text != '\0') ++text;
  }
  return last + 1;
}

} // namespace

void look_at_rss_if_higher() {
  if (!cpus_known) counters.set_cpus(online_cpus());
  cpus_known = true;
  const std::uint64_t now = os::monotonic_ns();
  if (!counters.is_due(now, resident_now())) return;
  RssCounters::RssReading look{};
  look.before = statm_counters();
  const std::uint64_t began = os::thread_cpu_ns();
  const char* const text = read_kernel_file("/proc/self/smaps_rollup");
  look.cost = os::thread_cpu_ns() - began;
  look.after = statm_counters();
  if (text == nullptr) return;
  look.resident = kib_after(text, "Rss:");
  look.anonymous = kib_after(text, "Anonymous:");
  if (look.resident == format::kNotSaid || look.anonymous == format::kNotSaid) return;
  counters.looked(now, look);
  correct_statm(counters.anonymous(), counters.other());
}

void forget_exact_rss() {
  counters.forked();
  correct_statm(0, 0);
}

} // namespace memtrace::record
