// Purpose: queries this machine for evidence about a trace, and collects the facts to compare the evidence
// with.
#pragma once

#include "analyzer/evidence/kill_matching.h"
#include "analyzer/trace/kernel_samples.h"
#include "analyzer/trace/trace.h"

namespace memtrace::report {

// Adds what this machine still reports about the process: its kernel's log, and the counters of its cgroups
// that still exist. Returns false, without a query, if the process ran under another kernel.
bool collect_evidence(const trace::Trace& trace, evidence::Evidence& into);

// Returns the directory of the process's own cgroup, or "" if it was not sampled.
std::string own_group(const trace::Trace& trace);

// Returns the facts of the process for the matching. The caller sets `evidence`.
evidence::Subject subject_of(const trace::Trace& trace);

// Returns the cgroup whose limit was closest at its last sample, or nullptr if no cgroup has a limit.
const trace::SampledCgroup* binding(const trace::Samples& samples);

// Returns the cgroup's path as the kernel writes it: "/sys/fs/cgroup/memory/a/b" -> "/a/b".
std::string kernels_path(const std::string& directory);

} // namespace memtrace::report
