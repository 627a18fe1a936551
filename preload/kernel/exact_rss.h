// Purpose: counts RSS by smaps_rollup at the highest samples, if the kernel's counters are not exact.
// Runs: on the background thread.
#pragma once

namespace memtrace::record {

// Called before a sample. If RSS is higher than ever and the counters may be off by a relevant amount, counts
// pages. From then on, statm() and the samples include the pages that the counters left out. Takes at most
// about 100 ms.
void look_at_rss_if_higher();

// In a forked child: removes the correction.
void forget_exact_rss();

} // namespace memtrace::record
