// Purpose: when to sample what: seldom as a rule, often where a limit comes close.
// Runs: on the background thread, and before there is one on the thread that begins to record.
#pragma once

#include <cstdint>

namespace memtrace::record {

// When recording begins, so that a kill in its first moments has something before it to be told from.
void sample_first();

// Before an orderly end: the last high water mark, and who else was killed until now.
void sample_last();

// Samples what is due. How long nothing will be, in ns, unless something is asked for.
//
// Far from a limit: the process and its groups each half second, the machine each fourth time, together 0.1 %
// of the time at most. Within an eighth of a limit: everything 40 times a second while it comes closer, 1 % of
// the time at most; where it does not, each sample waits twice as long as the one before. However far a limit
// is: when half of what is left of it will be gone at the present pace, and once it is gone.
std::uint64_t sample_if_due();

// Between two of these: a look at RSS of some us, and a sample where it has grown. The pause until the next
// look shrinks with the distance to the limit over the pace: 250 ms far from it, 0.5 ms before it is reached.
void look_at_growth_if_due();
std::uint64_t growth_pause(); // in ns

// A phase begins or ends: asks for a sample of the process, and wakes the background thread if one is due. Any
// thread.
void request_sample();

// In a forked child: nothing has been sampled.
void forget_sampling_times();

} // namespace memtrace::record
