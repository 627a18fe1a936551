// Purpose: what the trace says of the process as a whole.
// Runs: at the edges of a process's life, guard held.
#pragma once

#include "preload/bounded/fixed_string.h"
#include "preload/format/process_events.h"

namespace memtrace::record {

// Puts how the process ended, with its exit code or signal. Returns false if the record is lost.
bool put_end(format::EndHow how, std::uint32_t code);
// Puts a note, `key=value`.
void put_note(const char* text, std::size_t bytes);
template <std::size_t N>
void put_note(const Line<N>& text) {
  put_note(text.text(), text.size());
}

// Puts what threads other than this one did since their last record. With the process the ring slots go, and
// these flows with them.
void put_flows_of_others();
// Puts what was lost, and how much memory the recorder has: both lie in the ring file, which goes.
void note_losses();
void note_own_memory();
// Puts that MEMTRACE_MAX_NODE left less than was asked for, if it did.
void note_quota();

} // namespace memtrace::record
