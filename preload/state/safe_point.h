// Purpose: moments at which a library beside us may ask a card what it shows: it locks, allocates and takes its
// time.
// Runs: on the program's threads, outside its allocators.
#pragma once

namespace memtrace::record {

using SafePointCall = void (*)();
extern constinit SafePointCall safe_point_call;

// At the edges of phases and after device calls. Keeps errno; one load where nobody asked for it.
void make_safe_point_call();
inline void reach_safe_point() {
  if (__atomic_load_n(&safe_point_call, __ATOMIC_RELAXED) != nullptr) make_safe_point_call();
}

} // namespace memtrace::record
