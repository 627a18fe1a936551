// Purpose: what a trace asks of the outside, and what it has to compare the answers with.
#pragma once

#include "analyzer/evidence/kill_matching.h"
#include "analyzer/trace/kernel_samples.h"
#include "analyzer/trace/trace.h"

namespace memtrace::report {

// Adds what this machine still says of the process: its kernel's log, and the counters of its cgroups, if they
// are there. False: it ran under another kernel, and nothing was asked.
bool collect_evidence(const trace::Trace& trace, evidence::Evidence& into);

// The directory of the process's own cgroup; "" where it was not sampled.
std::string own_group(const trace::Trace& trace);

// Its evidence is still to be named.
evidence::Subject subject_of(const trace::Trace& trace);

// The cgroup whose limit was closest at its last sample. Null: none had one.
const trace::SampledCgroup* binding(const trace::Samples& samples);

// "/sys/fs/cgroup/memory/a/b" -> "/a/b", as the kernel writes it.
std::string kernels_path(const std::string& directory);

} // namespace memtrace::report
