// Purpose: whether this process may write its files at all: a sandbox or other credentials may forbid it.
// Runs: on any thread, with rings.
#pragma once

#include "preload/format/records.h"

namespace memtrace::record {

// The files cannot be written from now on, which the header of the rings says.
void shut_files(format::Loss why);
bool files_are_shut();

// EACCES for a file that this process made: its credentials are others now, whether the hooks saw that or not.
void files_are_refused();
// They may be written again. Returns since when they were shut if events were lost for that, else 0.
format::Stamp open_files_again();

// In a forked child: its files are its own.
void forget_shut_files();

} // namespace memtrace::record
