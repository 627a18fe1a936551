// Purpose: writes a whole report as the text of one JSON value. Only one row, and the sites of one process, are
// in memory as trees.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/findings/process/across_processes.h"
#include "analyzer/print/json/site_json.h"
#include "analyzer/rss/job_pss.h"
#include "analyzer/rss/rank_outliers.h"

namespace memtrace::report {

enum class Schema { report, postmortem }; // postmortem: each process has a `death`

// `job` and similar keys come from the first process. Add all processes, then call take().
class Document {
 public:
  explicit Document(const Options& options, Schema schema = Schema::report)
      : options_(options), schema_(schema) {}
  // `family`: the summed memory of the job; it is added to the ledgers of this process.
  void add(ProcessAnalysis& analysis, const Findings& findings, const Family* family = nullptr);
  void add(const JobFinding& finding);
  void add(const Outlier& outlier);
  // Returns the text of what was added so far.
  const std::vector<std::string>& pieces() const { return pieces_; }
  // Returns the text in pieces. `more`: the last keys.
  std::vector<std::string> take(const Json& more = Json::object()) &&;

 private:
  void put(std::string_view text);
  void put(const Json& value, int depth);
  void put_key(const std::string& key);
  void put_sites();
  void collect_sites(Json& value);
  std::string margin(int depth) const;

  const Options& options_;
  Schema schema_;
  std::vector<std::string> pieces_;
  std::size_t processes_ = 0;
  std::map<std::string, Json> sites_; // of the present process, by id: their frames
  Json findings_ = Json::array();
  Json outliers_ = Json::array();
};

} // namespace memtrace::report
