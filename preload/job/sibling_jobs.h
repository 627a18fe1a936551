// Purpose: finds the directories beside a job's own, which contain the jobs before it.
// Runs: once, when recording begins; also inside a malloc, on a small stack.
#pragma once

namespace memtrace::record {

// Finds the directories beside `directory` and returns their number, without `directory` itself. Keeps those
// whose names come last, because names begin with the time at which a job was founded.
unsigned find_siblings(const char* directory);

// Returns the path of one of them, valid until the next call. Index 0 is the last name.
const char* sibling(unsigned index);

} // namespace memtrace::record
