// Purpose: moments at which a library beside us may ask a card what it shows: it locks, allocates and takes its
// time.
// Runs: on the program's threads, outside its allocators.
#pragma once

namespace memtrace::record {

using QuietCall = void (*)();
extern constinit QuietCall quiet_call;

// At the edges of phases and after device calls. Keeps errno; one load where nobody asked for it.
void make_quiet_call();
inline void quiet_moment() {
  if (__atomic_load_n(&quiet_call, __ATOMIC_RELAXED) != nullptr) make_quiet_call();
}

} // namespace memtrace::record
