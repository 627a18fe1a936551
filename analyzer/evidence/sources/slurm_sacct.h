// Purpose: what Slurm's accounting says of a job's steps.
#pragma once

#include <string_view>

#include "analyzer/evidence/evidence.h"

namespace memtrace::evidence {

// The output of `sacct`, in columns or with -p or -P, as long as it names JobID and State. False when it is no
// such thing.
bool read_sacct(std::string_view text, Evidence& into);

} // namespace memtrace::evidence
