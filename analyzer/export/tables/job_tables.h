// Purpose: writes the figures of a job as the tables of a database.
#pragma once

#include <string>

#include "analyzer/calltree/call_tree.h"
#include "analyzer/export/tables/database_file.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// Memory is that of the largest process. Add all processes, then call finish().
class JobTables {
 public:
  explicit JobTables(const std::string& path);
  void add(ProcessAnalysis& analysis, const Findings& findings);
  void finish();

 private:
  DatabaseFile file_;
  std::int64_t processes_ = 0;
  std::int64_t frames_ = 0;
  std::int64_t stacks_ = 0;
  std::int64_t peaks_ = 0;
  std::int64_t ledgers_ = 0;
};

} // namespace memtrace::report
