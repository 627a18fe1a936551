// Purpose: writes everything to disk before exec replaces the program; if exec fails, recording continues.
// Runs: around exec.
#pragma once

namespace memtrace::record {

// Writes everything to disk before exec, with a record that the image ends, and removes the ring file. `path`
// is for the record. Returns false if it did nothing: the process does not record, or it is a child of vfork.
bool before_exec(const char* path);
void after_failed_exec();
// Makes a new ring file in the place of the one that was removed. Each thread leaves its old ring, drained,
// with its next record. Returns false if the file cannot be made.
bool renew_rings();

} // namespace memtrace::record
