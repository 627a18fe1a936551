// Purpose: names the use of blocks whose phase did not end before the process died.
#pragma once

#include <string>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

struct BlockOwner {
  const char* name = ""; // "state dict", "model"; "": the role or the kind says enough
  replay::Role role = replay::Role::unknown;
};

BlockOwner owner_of(ProcessAnalysis& analysis, const replay::Holding& holding);

} // namespace memtrace::report
