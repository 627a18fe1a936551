// Purpose: collects the processes and the documents of a command into one HTML page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/explain/nothing_to_show.h"
#include "analyzer/findings/all_findings.h"
#include "analyzer/page/html_file.h"
#include "analyzer/page/process_sections.h"

namespace memtrace::cli {

inline constexpr std::uint64_t kPageSize = std::uint64_t{5} << 20; // bytes

// Throws UsageError if this build has no page, or if the page would go to a terminal.
void check_page(const std::string& output);

class ReportPage {
 public:
  static constexpr std::size_t kMostTimelines = 32;

  // `most_bytes`: of the file, about.
  explicit ReportPage(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

  // Leaves room for a document. Call it before add().
  void make_room(const std::vector<std::string>& document);

  // Adds a process with as many blocks, one by one, as fit in `part` of the page. `memory`: what its report
  // leads with.
  void add(report::ProcessAnalysis& analysis, const report::Findings& findings, replay::MemoryId memory,
           double part);

  struct Documents { // texts of JSON, "" if there is none
    std::string report, postmortem, explain, first_vs_steady, diff;
  };
  // Returns the HTML file. `text`: the text report.
  std::string take(const Documents& documents, const std::string& text) &&;

 private:
  std::uint64_t most_bytes_;
  report::PageBlock block_;
  report::PageTexts texts_;
  report::Json processes_ = report::Json::array();
  std::string title_; // of the first process
};

// Returns the text that `make` returns, or "" if the trace has nothing to show.
template <class Make>
std::string document(Make make) {
  try {
    return make();
  } catch (const report::NothingToShow&) {
    return "";
  }
}

} // namespace memtrace::cli
