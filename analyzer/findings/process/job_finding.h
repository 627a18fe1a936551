// Purpose: a finding about several processes of a job.
#pragma once

#include <memory>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// Its site owns its names, because the analysis is closed by then.
struct JobFinding {
  Finding finding;
  std::shared_ptr<const symbols::Site> site; // nullptr: no site
};

} // namespace memtrace::report
