// Purpose: this process's share of what a job may write on this host.
// Runs: once, when recording begins; also inside a malloc, on a small stack.
#pragma once

#include <cstdint>

#include "preload/bounded/fixed_string.h"

namespace memtrace::record {

// Less than this is better spent on counting alone.
inline constexpr std::uint64_t kSensibleTrace = 4 << 20;

enum class Detail : std::uint8_t {
  full,   // as asked
  less,   // less room than asked: it folds earlier
  counts, // heap blocks are counted, not recorded
  none,   // no file
};
struct Quota {
  Detail detail;
  std::uint64_t bytes;
};

// The path of `directory/node-HOST`, until the next call of this file.
const Path& claims_of(const char* directory, const char* host);
// 0, or why no line can be added to this host's: what has that name is no file of this user.
long refused_by_claims(const char* directory);

// `directory/node-HOST` has one line for each process of the job that began to record on this host, in their
// order: "BYTES STEM RINGS", RINGS the ring file where it is not beside the trace, else "-". A process appends
// its own by one write and then reads the lines before it: those that still have their ring file run, or were
// killed, and count with their claim; the others with what they left. `stem` without directory.
Quota claim_quota(const char* directory, const char* stem, const char* rings, std::uint64_t asked);

// What MEMTRACE_MAX_NODE left for this process: what claim_share() returned last.
const Quota& quota();

// Raises this process's claim to `bytes`, if all claims together leave room for it. Of two processes that raise
// theirs at the same time both may be refused, never both admitted beyond the bound. claim_share() came before.
bool raise_claim(std::uint64_t bytes);

// All lines of `directory/node-HOST` in their order.
void each_claim(const char* directory, const char* host,
                void (*take)(void* context, const char* stem, const char* rings), void* context);

} // namespace memtrace::record
