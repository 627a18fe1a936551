// Purpose: recognises workers of loaders and of Ray, and the process that started them.
#pragma once

#include <cstdint>

#include "analyzer/trace/process_facts.h"

namespace memtrace::report {

// True if the process is a worker: it noted that, or a loader forked it and it inherited the loader's phase. A
// process that Ray started is one if it has no model. A rank is a worker only if it noted that.
bool is_worker(const trace::Facts& facts);

// Returns the pid of the process whose loader started this worker: the one that the worker noted, which
// Python's multiprocessing states. Without that note, it is the parent; of a process of a forkserver or of
// Ray, the parent of the server.
std::uint32_t worker_parent(const trace::Facts& facts);

// True if Python's multiprocessing started the process by a forkserver, or if it is that server.
bool is_of_forkserver(const trace::Facts& facts);

// True if Ray's server of the node (raylet) started the process for tasks or an actor.
bool is_of_ray(const trace::Facts& facts);

// True if Python's multiprocessing started the process as a new interpreter.
bool is_spawned(const trace::Facts& facts);

// True if the worker has the pages of the process whose loader started it: it is a fork of that process.
bool is_fork_of_parent(const trace::Facts& facts);

} // namespace memtrace::report
