// Purpose: everything is on disk before the program becomes another one; if it does not, recording goes on.
// Runs: around exec.
#pragma once

namespace memtrace::record {

// Before exec: everything is on disk, says that the image ends, and the ring file is gone. `path` is for the
// record. False when nothing was done: not recording, or a vfork child.
bool before_exec(const char* path);
void after_failed_exec();
// Makes a new ring file in the place of the one that was removed. Each thread leaves its old ring, drained,
// with its next record. Returns false if the file cannot be made.
bool renew_rings();

} // namespace memtrace::record
