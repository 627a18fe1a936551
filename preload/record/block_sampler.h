// Purpose: draws small blocks as samples, and remembers which sampled blocks are alive.
// Runs: on the path of sampled blocks, one per MEMTRACE_SAMPLE bytes on average.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

// Returns the bytes up to and including the byte that draws its block: an exponential interval with this mean,
// rounded up. A block of n bytes is drawn with probability 1 - exp(-n / mean), whatever came before. Mean 0: no
// block is drawn. `random` is the state of the generator, not 0. The code uses only integers. The logarithm is
// off by less than 2^-31 of the mean.
std::int64_t next_interval(std::uint64_t& random, std::uint64_t mean);
std::uint64_t seed_for(std::uint64_t thread);

inline constexpr std::uint32_t kMaxSampled = 96 * 1024; // alive at once; 48 GiB of small blocks by default

// The table of live sampled blocks, so that their frees find them. Failures are counted as lost, and each wait
// has a bound. The caller holds the guard.
bool sampled_put(std::uint64_t address); // false: no room, or the lock was not free in time
bool sampled_take(std::uint64_t address);
// True if a live sampled block begins at `address`. It takes no lock, for a signal handler that interrupts the
// recorder.
bool sampled_holds(std::uint64_t address);

// Forgets the parent's samples in a forked child, because its trace has no births of them. The table stays
// untouched until the child draws or frees a block.
void sampled_forked();

} // namespace memtrace::record
