// Purpose: when to take the process's ledger: at the peaks of RSS, which last tens of milliseconds, and seldom
// else.
// Runs: on the background thread.
#pragma once

#include <cstdint>

namespace memtrace::record {

// How long nothing is due, in ns: 10 ms while `live` is near its highest, for then RSS is looked at; 0 while a
// ledger is half done.
std::uint64_t ledger_pause();

// One look, some us: calls for a ledger when it is due, takes it when a thread of the program has answered: 4
// ms of CPU at once, so that rings and samples have their turn whatever the program has mapped.
void ledger_turn();
// The background thread goes: a ledger that is half done is left.
void leave_ledger();

// At the orderly end: the background thread takes it before it goes.
void ask_for_last_ledger();
void take_last_ledger_if_asked();

// In a forked child: nothing was taken.
void forget_ledgers();

} // namespace memtrace::record
