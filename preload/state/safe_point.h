// Purpose: safe points, at which libmemtrace_cupti.so may query a GPU. A query locks, allocates and is slow.
// Runs: on the program's threads, outside its allocators.
#pragma once

namespace memtrace::record {

using SafePointCall = void (*)();
extern constinit SafePointCall safe_point_call;

// Called at phase edges and after device calls. Keeps errno. Costs one load if no function is registered.
void make_safe_point_call();
inline void reach_safe_point() {
  if (__atomic_load_n(&safe_point_call, __ATOMIC_RELAXED) != nullptr) make_safe_point_call();
}

} // namespace memtrace::record
