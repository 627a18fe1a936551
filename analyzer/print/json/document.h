// Purpose: a whole report as the text of one JSON value, of which no more than one row is held as a tree.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/findings/process/across_processes.h"
#include "analyzer/print/json/site_json.h"
#include "analyzer/rss/job_pss.h"
#include "analyzer/rss/rank_outliers.h"

namespace memtrace::report {

enum class Schema { report, postmortem }; // the second has a `death` for each process

// `job` and the like come from the first process given. Add processes, then take the whole.
class Document {
 public:
  explicit Document(const Options& options, Schema schema = Schema::report)
      : options_(options), schema_(schema) {}
  // `family`: what the job's processes have together; it goes to the ledgers of the first one.
  void add(ProcessAnalysis& analysis, const Findings& findings, const Family* family = nullptr);
  void add(const JobFinding& finding);
  void add(const Outlier& outlier);
  // In pieces, one after the other. `more`: keys that come last.
  std::vector<std::string> take(const Json& more = Json::object()) &&;

 private:
  void put(std::string_view text);
  void put(const Json& value, int depth);

  const Options& options_;
  Schema schema_;
  std::vector<std::string> pieces_;
  std::size_t processes_ = 0;
  Json findings_ = Json::array();
  Json outliers_ = Json::array();
};

} // namespace memtrace::report
