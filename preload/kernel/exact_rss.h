// Purpose: RSS as smaps_rollup counts it, at the highest samples, where the kernel's counters are not exact.
// Runs: on the background thread.
#pragma once

namespace memtrace::record {

// Before a sample. If RSS is higher than ever and the counters may be off by more than matters, counts pages.
// From then on statm() and samples have what the counters left out. Takes at most some 100 ms.
void look_at_rss_if_higher();

// In a forked child.
void forget_exact_rss();

} // namespace memtrace::record
