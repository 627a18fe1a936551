// Purpose: writes a whole report as the text of one JSON value. Only one row, and the sites of one process, are
// in memory as trees.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/findings/process/across_processes.h"
#include "analyzer/print/json/json_text.h"
#include "analyzer/rss/job_pss.h"
#include "analyzer/rss/rank_outliers.h"

namespace memtrace::report {

enum class Schema { report, postmortem }; // postmortem: each process has a `death`

// Returns the object of one process, in pieces. `family`: the summed memory of the job; it is added to the
// ledgers of this process. Several threads may write processes at the same time.
std::vector<std::string> process_pieces(ProcessAnalysis& analysis, const Findings& findings,
                                        const Options& options, Schema schema, const Family* family);

// Text in pieces: a growing string is copied, and is in memory twice meanwhile.
class JsonPieces {
 public:
  explicit JsonPieces(bool compact) : compact_(compact) {}

  void put(std::string_view text);
  void put(const Json& value, int depth);
  void put_key(const std::string& key);
  std::string margin(int depth) const;            // Returns the start of a line. Compact output is one line.
  void drop_last() { pieces_.back().pop_back(); } // removes one character
  std::vector<std::string> take() { return std::exchange(pieces_, {}); }
  const std::vector<std::string>& pieces() const { return pieces_; }

 private:
  bool compact_;
  std::vector<std::string> pieces_;
};

// `job` and similar keys come from the first process. Add all processes, then call take().
class Document {
 public:
  explicit Document(const Options& options, Schema schema = Schema::report)
      : options_(options), schema_(schema), text_(options.compact) {}
  void add(ProcessAnalysis& analysis, const Findings& findings, const Family* family = nullptr);
  // Adds what process_pieces() returned.
  void add(const trace::Facts& facts, const std::vector<std::string>& process);
  void add(const JobFinding& finding);
  void add(const Outlier& outlier);
  // Returns the text of what was added so far.
  const std::vector<std::string>& pieces() const { return text_.pieces(); }
  // Returns the text of what was added since the last call. So a long document need not be in memory.
  std::vector<std::string> take_begun() { return text_.take(); }
  // Returns the rest of the text in pieces. `more`: the last keys.
  std::vector<std::string> take(const Json& more = Json::object()) &&;

 private:
  const Options& options_;
  Schema schema_;
  JsonPieces text_;
  std::size_t processes_ = 0;
  Json findings_ = Json::array();
  Json outliers_ = Json::array();
};

} // namespace memtrace::report
