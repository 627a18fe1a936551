// Room: report.
// Job: the report as JSON, key for key as the contract has it.
#pragma once

#include <nlohmann/json.hpp>

#include "report/family.h"
#include "report/view.h"

namespace memtrace::report {

using Json = nlohmann::ordered_json;

enum class Schema { report, postmortem }; // the second has a `death` for each process

// `job` and the like come from the first process given. Add processes, then take the whole.
class Document {
 public:
  explicit Document(const Options& options, Schema schema = Schema::report)
      : options_(options), schema_(schema) {}
  void add(View& view);
  void add(const Family& family);                      // to the ledgers of the first process
  void add_finding(const Finding& finding, Json site); // about several processes
  void add_outlier(Json outlier);                      // a rank that has more than the others
  Json take() &&;

 private:
  const Options& options_;
  Schema schema_;
  Json job_;
  Json processes_ = Json::array();
  Json findings_ = Json::array();
  Json outliers_ = Json::array();
};

// Null for no stack.
Json site_json(View& view, format::StackId stack);
Json row_json(View& view, const fold::Holding& row);

// One set of rows: the largest `top` with their sites, what is left by kind and role, and last what no record
// tells of, so that bytes add up to `total`.
Json at_peak(View& view, const fold::Holdings& holdings, std::int64_t total, std::size_t top);

} // namespace memtrace::report
