// Purpose: names processes, signals and phases in text reports.
#pragma once

#include <string>

#include "analyzer/replay/phase_position.h"
#include "analyzer/trace/process_facts.h"

namespace memtrace::report {

// Returns the name of the row that completes a sum: bytes that were counted, but are of no recorded block.
// A device has no small blocks.
const char* uncovered_row(const trace::Facts& facts, bool of_device = false);
// Returns "step 3", or the phase alone if `step` is none.
std::string when(const std::string& phase, replay::Step step);
// Returns "steps 3 to 1,024".
std::string step_range(replay::Step first, replay::Step last);
// Returns the script that an interpreter runs, else the program; printable, at most 40 columns.
std::string script(const trace::Facts& facts);
// Returns "train.py pid 7", or the name alone if the pid is not known: a snapshot of PyTorch does not say it.
std::string script_and_pid(const trace::Facts& facts);
// Returns " (pp 0, dp 1)", the coordinates of the rank, printable; "" if they are not known.
std::string place_in(const trace::Facts& facts);
// Returns "pid 7", or the name if the pid is not known.
std::string pid_or_script(const trace::Facts& facts);
// Returns the words for a role or kind of a block: "optimizer state" for "optimizer_state".
std::string words_of(const std::string& name);
// Returns the word for a phase: "update" for "step", which could be mistaken for the number of a step.
std::string phase_words(const std::string& name);
// Returns "SIGKILL", or the number if the signal has no name.
std::string signal_name(std::uint32_t number);
// Returns `text` with blanks at its end, at least `width` columns wide.
std::string pad(const std::string& text, std::size_t width);

// Returns what reports say if a trained model has no parameters among the recorded blocks.
std::string parameters_not_allocated(const trace::Facts& facts);
// What reports say of a trained model without parameters among the recorded blocks.
inline constexpr char kParametersNotAllocated[] =
    "No row has the parameters, because no allocator of PyTorch made them. They may be in a mapped file, as "
    "after "
    "torch.load(mmap=True) and load_state_dict(assign=True). Pages of it that the program writes to, as an "
    "optimizer does, are private memory.";

} // namespace memtrace::report
