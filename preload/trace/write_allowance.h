// Purpose: how many bytes this process may write: a small part of MEMTRACE_MAX_NODE at first, and more when it
// needs more.
// Runs: when recording begins, and when a file of the process is full.
#pragma once

#include <cstdint>

namespace memtrace::record {

// Returns the most that this process will claim. For the first process of a job, a rank, and a process that
// trains, it is MEMTRACE_MAX_TRACE. For workers and other children it is an eighth of that. Any thread may call
// it.
std::uint64_t bytes_wanted();
// Returns the first claim.
std::uint64_t bytes_at_first();

// Doubles the claim, up to bytes_wanted(), and divides it among the files again. Returns false if the claim is
// already bytes_wanted(), or MEMTRACE_MAX_NODE leaves no more. The caller holds the pass lock.
bool raise_bound();

// True if MEMTRACE_MAX_NODE left less than this process requested, and no record says so yet. True only once.
// Any thread may call it.
bool bound_became_known();

// Notes that this process serves a data loader. Any thread may call it.
void becomes_worker();
// Notes that this process runs a forward pass, a backward pass or an optimizer. Any thread may call it.
void becomes_trainer();

void forget_bound(); // in a forked child

} // namespace memtrace::record
