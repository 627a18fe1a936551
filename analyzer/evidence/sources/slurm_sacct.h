// Purpose: reads what Slurm's accounting reports about a job's steps.
#pragma once

#include <string_view>

#include "analyzer/evidence/evidence.h"

namespace memtrace::evidence {

// Reads the output of `sacct`, in columns or with -p or -P. It must have the columns JobID and State. Returns
// false if the text is not of that form.
bool read_sacct(std::string_view text, Evidence& into);

} // namespace memtrace::evidence
