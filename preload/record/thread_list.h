// Purpose: all threads that the recorder knows.
// Runs: inside the program's malloc.
#pragma once

#include "preload/bounded/spin_lock.h"
#include "preload/state/thread.h"

namespace memtrace::record {

// Guards the list: who holds it may add a thread or give a record to another one.
extern constinit SpinLock threads_lock;

// Indices below threads_made() are valid. The threads of some have ended (`tid` 0, or no thread of that
// number).
std::uint32_t threads_made();
Thread* thread_in_list(std::uint32_t index);
// Returns a new record; null: the list is full, or there is no memory. The last record is kept for the thread
// that writes the end.
Thread* add_to_list();
// The number of the next thread, from 1: 0 is the recorder's own.
std::uint32_t next_thread_index();
// In a forked child: the list is empty.
void forget_list();

// Takes the lock, as do all below. Returns the flows that no record of any thread but the calling one carries
// yet, and counts them as carried. Others may go on.
format::SmallTotals take_unpublished_of_others();
// Returns the flows that no record of any thread carries yet.
format::SmallTotals unpublished_of_all();

// There is a new ring file. Sets for each thread without a slot of it, but not for the calling one, how many
// bytes it may count before it takes one. RingFileHeader.uncounted_bound is their sum. May be called again.
void set_uncounted_bounds();

// Returns the thread pointer, within [start, end), of a thread other than the first that lives; 0: there is
// none.
std::uint64_t thread_within(std::uint64_t start, std::uint64_t end);

// Returns the thread with this number, null if none. For the cold log. Takes no lock.
Thread* thread_at(std::uint32_t index);

} // namespace memtrace::record
