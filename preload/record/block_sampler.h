// Purpose: which small blocks are drawn, and which drawn ones are alive.
// Runs: on the path of sampled blocks: one in so many bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

// Bytes up to and including the one that draws its block: an exponential interval of this mean, rounded up, so
// that a block of n bytes is drawn with probability 1 - exp(-n / mean), whatever came before. Mean 0: never.
// `random` is the generator's state, not 0. Integers only; the logarithm is off by less than 2^-31 of the mean.
std::int64_t next_interval(std::uint64_t& random, std::uint64_t mean);
std::uint64_t seed_for(std::uint64_t thread);

inline constexpr std::uint32_t kMaxSampled = 96 * 1024; // alive at once; 48 GiB of small blocks by default

// Drawn blocks that are alive, for their frees to find. Guard held. What goes wrong is counted as lost and
// never waited for beyond a bound.
bool sampled_put(std::uint64_t address); // false: full, or the lock was not to be had
bool sampled_take(std::uint64_t address);
// Without the lock, for a signal handler that interrupts the recorder.
bool sampled_holds(std::uint64_t address);

// In a forked child: what lives of its parent's samples was never born in its trace. Nothing is touched before
// the child draws or frees.
void sampled_forked();

} // namespace memtrace::record
