// Purpose: whether this process can write its files: a sandbox or changed credentials may prevent it.
// Runs: on any thread, after the rings exist.
#pragma once

#include "preload/format/records.h"

namespace memtrace::record {

// Notes in the header of the rings that the files cannot be written from now on.
void shut_files(format::Loss why);
bool files_are_shut();

// Notes that a file of this process gave EACCES. The credentials have changed, even if no hook saw it.
void files_are_refused();
// Notes that the files can be written again. If events were lost meanwhile, returns the stamp when the files
// were shut; otherwise 0.
format::Stamp open_files_again();

// Resets the reason of losses in a forked child, which has files of its own.
void forget_shut_files();

} // namespace memtrace::record
