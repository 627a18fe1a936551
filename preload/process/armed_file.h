// Purpose: the file of an armed process: `memtrace arm` calls through it, and the process answers there.
// Runs: inside hooks, guard held, except where said.
#pragma once

#include "preload/bounded/fixed_string.h"
#include "preload/format/armed_file.h"

namespace memtrace::record {

// Makes the file, once: a directory that cannot be written is not tried again. The directory is the job's.
void make_armed_file();
bool armed_file_was_tried();
bool has_armed_file();
// Returns the file, as mapped; null before there is one, and if another process has cut it: then an access
// would raise SIGBUS. Asks the kernel. `memtrace arm` may write the file at any time.
format::ArmedFile* armed_file();
// True if `memtrace arm` called. False if the file has other bytes than this process wrote.
bool is_called(const format::ArmedFile& by);

// Says in the file whether recording has begun, and where.
void answer_call(bool records, const Path& trace);
// Says in the file that recording has ended.
void answer_stop();
// Removes the file at the end of the process. Guard not held.
void remove_armed_file();
// Forgets the file in a forked child, because it is the parent's. The next event of the child looks.
void forget_armed_file();

} // namespace memtrace::record
