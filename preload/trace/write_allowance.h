// Purpose: how many bytes this process may write: few of MEMTRACE_MAX_NODE at first, and more as it needs more.
// Runs: when recording begins, and where a file of the process is full.
#pragma once

#include <cstdint>

namespace memtrace::record {

// The most it will ever ask for: MEMTRACE_MAX_TRACE for the first process of a job, a rank, and whoever trains;
// an eighth for workers and other children. Any thread.
std::uint64_t bytes_wanted();
// What it claims first.
std::uint64_t bytes_at_first();

// Pass lock held. Doubles the claim, up to bytes_wanted(), and divides it anew among the files. False: it has
// all that it wants, or MEMTRACE_MAX_NODE left no more.
bool raise_bound();

// MEMTRACE_MAX_NODE left less than was asked for, and no record says so yet. Any thread; true once.
bool bound_became_known();

// This process serves a data loader. Any thread.
void becomes_worker();
// This process runs a model forward, backward or an optimizer. Any thread.
void becomes_trainer();

void forget_bound(); // in a forked child

} // namespace memtrace::record
