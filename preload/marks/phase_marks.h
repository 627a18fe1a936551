// Purpose: the marks of phases and steps that the hooks make (Python, C, NVTX).
// Runs: on the program's thread, outside malloc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

// Marks on the calling thread. Names are copied (at most 200 bytes). Not for signal handlers. Errors are not
// returned. Flags: format::kAuto for marks that memtrace found, kGradOff, kSkipped.
void phase_begin(const char* name, std::size_t bytes, std::uint16_t flags);
// Ends the innermost phase of that name on this thread that memtrace began (kAuto), or that the program began.
// Does nothing if there is none.
void phase_end(const char* name, std::size_t bytes, std::uint16_t flags);
// Ends the innermost phase of this thread that the program marked. The phase `loss` of memtrace may still be
// open inside it.
void phase_end_marked();
// Copies the name of the innermost phase of this thread, and returns its bytes; 0 if there is none.
std::size_t phase_current(char* out, std::size_t capacity);
// True if a phase of that name is open on this thread.
bool phase_inside(const char* name, std::size_t bytes);

void step_begin(std::uint64_t number);
// Marks this instant. The report says what is alive at it.
void mark_instant(const char* name, std::size_t bytes);

// Called outside any hook. Cheap: restarts the background thread if a fork or unshare ended it.
void outside_hook();

} // namespace memtrace::record
