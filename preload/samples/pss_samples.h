// Purpose: the PSS of this process. Each shared page is divided among the processes that share it, so only PSS
// can be summed over a family.
// Runs: on the background thread.
#pragma once

namespace memtrace::record {

// Notes that the process has a family from now on. Runs around a fork, on any thread.
void family_began();

// Takes a PSS sample if one is due (samples/share_schedule.h).
void sample_share_if_due();
// Takes a PSS sample at the orderly end if there is news, unless the last one took 50 ms or more.
void sample_last_share();

void forget_shares(); // in a forked child, which has a family

} // namespace memtrace::record
