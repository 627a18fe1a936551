// Purpose: the PSS of this process. Each shared page is divided among the processes that share it, so only PSS
// can be summed over a family.
// Runs: on the background thread.
#pragma once

namespace memtrace::record {

// Notes that the process has a family from now on. Runs around a fork, on any thread.
void family_began();

// Takes a PSS sample if one is due. The kernel walks each page for it: some 20 ms for each GiB in small pages.
// So the limits are two samples a second and 0.1 % of the time, 1 % more in the first ten seconds.
void sample_share_if_due();
// Takes a PSS sample at the orderly end, unless the last one took 50 ms or more.
void sample_last_share();

void forget_shares(); // in a forked child, which has a family

} // namespace memtrace::record
