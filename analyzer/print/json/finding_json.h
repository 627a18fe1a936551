// Purpose: writes a finding as JSON.
#pragma once

#include "analyzer/findings/common/finding.h"
#include "analyzer/print/json/site_json.h"

namespace memtrace::report {

Json finding_json(const Finding& finding, Json site);

} // namespace memtrace::report
