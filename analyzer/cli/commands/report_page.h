// Purpose: collects the processes of a report into one HTML page.
#pragma once

#include <string>
#include <vector>

#include "analyzer/findings/all_findings.h"
#include "analyzer/page/html_file.h"
#include "analyzer/page/process_sections.h"

namespace memtrace::cli {

// Throws UsageError if this build has no page, or if the page would go to a terminal.
void check_page(const std::string& output);

class ReportPage {
 public:
  // `most_bytes`: of the file, about. `processes`: their number in the report.
  ReportPage(const report::Options& options, std::uint64_t most_bytes, std::size_t processes)
      : options_(options), most_bytes_(most_bytes), expected_(processes) {}

  // Adds the next process of the report: the leading one first. The first kMostTimelines get a timeline.
  void add(report::ProcessAnalysis& analysis, const report::Findings& findings);

  static constexpr std::size_t kMostTimelines = 32;

  struct Documents { // texts of JSON, "" if there is none
    std::string report, postmortem;
  };
  // Returns the HTML file. `text`: the text report.
  std::string take(const Documents& documents, const std::string& text) &&;

 private:
  report::Json add_leading(report::ProcessAnalysis& analysis, const report::Findings& findings,
                           replay::MemoryId memory);
  void add_answers(report::ProcessAnalysis& analysis, replay::MemoryId memory);

  const report::Options& options_;
  std::uint64_t most_bytes_;
  std::size_t expected_; // processes
  report::PageBlock block_;
  report::PageTexts texts_;
  report::Json processes_ = report::Json::array();
  std::string title_;
  std::string explain_ = "null", first_vs_steady_ = "null"; // of the leading process
};

} // namespace memtrace::cli
