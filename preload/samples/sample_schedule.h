// Purpose: when to take which sample: seldom as a rule, often if a limit is close.
// Runs: on the background thread; before it starts, on the thread that begins to record.
#pragma once

#include <cstdint>

namespace memtrace::record {

// Samples when recording begins. So there is a sample to compare with, even if a kill follows at once.
void sample_first();

// Samples before an orderly end: the last high water mark, and the kills of other processes until now.
void sample_last();

// Takes the samples that are due. Returns the time in ns until the next one, if no sample is requested before.
//
// Far from a limit, it samples the process and its cgroups each half second, and the machine every two seconds.
// These samples, and those that phases request, take at most 0.1 % of the time together. Within an eighth of a
// limit, it samples everything 40 times a second while the limit comes closer. That takes at most 1 % of the
// time. If the limit does not come closer, each gap is twice as long as the one before. At any distance, it
// also samples when, at the present pace, half of the bytes to the limit will be used, and once they are.
std::uint64_t sample_if_due();

// Reads RSS between two samples, in some us, and samples if RSS has grown. The pause until the next look
// shrinks with the time until the limit is reached at the present pace: 250 ms far from it, 0.5 ms just before
// it.
void look_at_growth_if_due();
std::uint64_t growth_pause(); // in ns

// Requests a sample of the process when a phase begins or ends at the time `now`: the stamp of the mark, so
// that the clock is not read again. Wakes the background thread if a sample is due. Runs on any thread.
void request_sample(std::uint64_t now);

// Resets the times in a forked child, which has no samples.
void forget_sampling_times();

} // namespace memtrace::record
