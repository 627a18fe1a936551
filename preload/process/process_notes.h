// Purpose: records about the process as a whole.
// Runs: when recording begins or ends, guard held.
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

// Puts the flows of the other threads since their last records. The ring slots end with the process, and these
// flows with them.
void put_flows_of_others();
// Notes the processes above the parent, the nearest first. If the parent leaves no trace, a reader finds there
// the process of the job that this one belongs to.
void note_ancestors();
// Notes the grid of the job's ranks from MEMTRACE_RANKS, "ranks=pp=2,dp=4".
void note_grid();

// They put what is in the ring file, which will be removed: the losses, the pauses, the size of the recorder's
// memory.
void note_losses();
// Puts "pauses=SUM LONGEST COUNT...", in ns, a count for each bucket (format/file_headers.h).
void note_pauses();
void note_own_memory();
// Puts that MEMTRACE_MAX_NODE granted less than the process asked for, if so.
void note_quota();

} // namespace memtrace::record
