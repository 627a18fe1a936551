// Purpose: computes this process's part of the bytes that a job may write on this host.
// Runs: once, when recording begins; also inside a malloc, on a small stack.
#pragma once

#include <cstdint>

#include "preload/bounded/fixed_string.h"

namespace memtrace::record {

// If less room than this is left, counting alone is a better use of it.
inline constexpr std::uint64_t kSensibleTrace = 4 << 20;

enum class Detail : std::uint8_t {
  full,   // as asked
  less,   // less room than asked: the rollup begins earlier
  counts, // heap blocks are counted, not recorded
  none,   // no file
};
struct Quota {
  Detail detail;
  std::uint64_t bytes;
};

// Returns the path of `directory/node-HOST`, valid until the next call of this file.
const Path& claims_of(const char* directory, const char* host);
// Returns 0, or the error that keeps lines from being added to this host's claims: the path is not a file of
// this user.
long refused_by_claims(const char* directory);

// `directory/node-HOST` has one line for each process of the job that began to record on this host, in order:
// "BYTES STEM RINGS". STEM is without directory. RINGS is the ring file if it is not beside the trace, else
// "-". A process appends its own line by one write, and then reads the lines before it. If the ring file of a
// process exists, the process runs or was killed, and counts with its claim. The other processes count with the
// files that they left.
Quota claim_quota(const char* directory, const char* stem, const char* rings, std::uint64_t asked);

// True if processes before this one take more than half of MEMTRACE_MAX_NODE on this host.
bool is_quota_half_used();

// Claims again after files of this host were removed.
Quota claim_again(std::uint64_t asked);

// Removes the files of one process of this host, its ring file included.
void remove_files_of(const char* directory, const char* stem, const char* rings);

// Returns the last result of claim_quota(): the bytes that MEMTRACE_MAX_NODE left for this process.
const Quota& quota();

// Raises this process's claim to `bytes`, if all claims together leave room for it. True if it was raised. If
// two processes raise their claims at the same time, both may be refused. They are never both admitted beyond
// the bound. Called after claim_quota().
bool raise_claim(std::uint64_t bytes);

// Calls `take` for each line of `directory/node-HOST`, in order.
void each_claim(const char* directory, const char* host,
                void (*take)(void* context, const char* stem, const char* rings), void* context);

} // namespace memtrace::record
