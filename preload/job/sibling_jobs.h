// Purpose: the directories beside a job's own, where the jobs before it in the same place have theirs.
// Runs: once, when recording begins; also inside a malloc, on a small stack.
#pragma once

namespace memtrace::record {

// Looks at what is in the directory above `directory`; how many were found, itself not among them: those whose
// names come last, and names begin with the time at which a job was founded.
unsigned find_siblings(const char* directory);

// The path of one of them, the last name first; until the next call.
const char* sibling(unsigned index);

} // namespace memtrace::record
