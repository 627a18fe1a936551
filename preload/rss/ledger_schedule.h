// Purpose: when to take the ledger of the process: at the peaks of RSS, which last tens of milliseconds, and
// seldom otherwise.
// Runs: on the background thread.
#pragma once

#include <cstdint>

namespace memtrace::record {

// Returns the time in ns until the next turn. While `live` is near its highest, it is 10 ms, because RSS is
// read then. While a ledger is half done, it is 0 or the time until its next turn.
std::uint64_t ledger_pause();

// Takes one turn, of some us if nothing is due. If a ledger is due, asks the program's threads for
// an answer. Takes the ledger after one has answered, or with the previous answer if none does in time. Each
// turn has a limit of CPU time (kTurnNs). So rings and samples have their turns, however much the program has
// mapped.
void ledger_turn();
// Abandons a ledger that is half done, because the background thread ends.
void leave_ledger();

// Requests the last ledger at the orderly end. The background thread takes it before it ends.
void ask_for_last_ledger();
void take_last_ledger_if_asked();

// Resets the state in a forked child, which has no ledgers.
void forget_ledgers();

} // namespace memtrace::record
