// Purpose: what this process has of pages that its family has too, each by the part that is its own (PSS): only
// so can processes be summed up.
// Runs: on the background thread.
#pragma once

namespace memtrace::record {

// Around a fork: there is a family from now on. On any thread.
void family_began();

// The kernel walks each page for it, some 20 ms for each GiB in small pages: at most twice a second, and 0.1 %
// of the time, 1 % of the first ten seconds more.
void sample_share_if_due();
// At the orderly end, if that is not dear.
void sample_last_share();

void forget_shares(); // in a forked child, which is of a family

} // namespace memtrace::record
