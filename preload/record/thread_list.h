// Purpose: all threads that the recorder knows.
// Runs: inside the program's malloc.
#pragma once

#include "preload/bounded/spin_lock.h"
#include "preload/state/thread.h"

namespace memtrace::record {

// Guards the list. The thread that holds it may add a thread, or give a record to another thread.
extern constinit SpinLock threads_lock;

// Indices below threads_made() are valid. Some of these threads have ended: their `tid` is 0, or no thread has
// that number.
std::uint32_t threads_made();
Thread* thread_in_list(std::uint32_t index);
// Returns a new record; null if the list is full or there is no memory. The last record is reserved for the
// thread that writes the end.
Thread* add_to_list();
// Returns the number of the next thread, from 1. The recorder's own number is 0.
std::uint32_t next_thread_index();
// Empties the list in a forked child.
void forget_list();

// Returns the flows of all threads but the calling one that no record carries yet, and counts them as carried.
// This function and those below take the lock. The other threads may go on.
format::SmallTotals take_unpublished_of_others();
// Returns the flows that no record of any thread carries yet.
format::SmallTotals unpublished_of_all();

// Returns the sums of all threads' parts of the levels. The caller holds the lock, or is the only thread.
LevelParts levels_of_threads();
// Sets these parts to 0 in a forked child.
void forget_levels_of_threads();
// Returns the last stamp that a thread had drawn when it emitted a record, of all threads. Takes no lock: a
// child of a raw clone calls it.
format::Stamp last_stamp_of_threads();

// Sets, for each thread without a slot in a new ring file, how many bytes it may count before it takes a slot.
// The calling thread is left out. RingFileHeader.uncounted_bound is the sum. May be called again.
void set_uncounted_bounds();

// Returns the thread pointer, within [start, end), of a living thread other than the first; 0 if there is none.
std::uint64_t thread_within(std::uint64_t start, std::uint64_t end);

// Returns the thread with this number; null if none. Takes no lock. The startup log uses it.
Thread* thread_at(std::uint32_t index);

} // namespace memtrace::record
