// Purpose: what blocks were for that a death left as they were: the phase they were made in did not end.
#pragma once

#include <string>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

struct BlockOwner {
  const char* name = ""; // "state dict", "model"; "" where there is no better word than the role or the kind
  replay::Role role = replay::Role::unknown;
};

BlockOwner owner_of(ProcessAnalysis& analysis, const replay::Holding& holding);

} // namespace memtrace::report
