// Purpose: from inert to cold, and from cold to hot.
// Runs: in the constructor, in a forked child, and once when recording begins.
#pragma once

#include "preload/process/process_identity.h"

namespace memtrace::record {

// Constructor only: settings, place, unwinder. Afterwards the process is cold, or inert. `may_unwind`: native
// stacks may be taken inside hooks.
void start_life(bool may_unwind = true);

// Constructor only: the blocks of malloc do not pass our hooks, for `object` has a malloc that comes first.
void malloc_is_elsewhere(const char* object);

// In a forked child: it has not begun to record, and what it records will say that it is a child of `of`.
void forget_beginning(const Parent& of);

} // namespace memtrace::record
