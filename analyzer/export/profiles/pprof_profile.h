// Purpose: writes what was alive at a peak as a profile for pprof.
#pragma once

#include <string>

#include "analyzer/calltree/held_blocks.h"

namespace memtrace::report {

// Returns a gzip file with a message perftools.profiles.Profile: the samples inuse_objects and inuse_space,
// with the labels role, phase and kind. inuse_space adds up to `held.total`. Blocks without a stack have the
// function kNoStack.
std::string pprof_profile(ProcessAnalysis& analysis, const HeldBlocks& held);

} // namespace memtrace::report
