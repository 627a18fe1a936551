// Purpose: collects the processes and the documents of a command into one HTML page.
#include "analyzer/cli/commands/report_page.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "analyzer/files/gzip.h"
#include "analyzer/job/usage_error.h"
#include "analyzer/timeline/band.h"
#include "analyzer/wording/labels.h"

#ifndef MEMTRACE_VERSION
#error "the build defines MEMTRACE_VERSION"
#endif

namespace memtrace::cli {
namespace {

constexpr std::size_t kMostBins = 4096;
constexpr std::size_t kFewBins = 512; // of a process with a small part of the page
constexpr double kSmallPart = 0.1;
constexpr double kBytesOfRow = 4; // at least, as the file has them: a first guess

template <std::size_t kCount>
report::Json names(const char* const (&of)[kCount]) {
  report::Json out = report::Json::array();
  for (const char* const name : of) out.push_back(name);
  return out;
}

report::Json role_names() {
  report::Json out = report::Json::array();
  for (std::size_t role = 0; role <= static_cast<std::size_t>(replay::Role::rounding); ++role)
    out.push_back(replay::role_name(static_cast<replay::Role>(role)));
  return out;
}

std::string or_null(const std::string& document) {
  return document.empty() ? "null" : document;
}

} // namespace

void check_page(const std::string& output) {
  if (!report::has_page())
    throw report::UsageError(
        "--format html: this memtrace was built without esbuild, so it has no page; install esbuild and build "
        "it again, or use --format text or json");
  if (output.empty() && isatty(STDOUT_FILENO) != 0)
    throw report::UsageError("--format html writes a file, not to a terminal: add -o report.html");
}

void ReportPage::make_room(const std::vector<std::string>& document) {
  std::string text;
  for (const std::string& piece : document) text += piece;
  const std::uint64_t bytes = report::base64(files::gzip(text)).size();
  most_bytes_ -= std::min(bytes, most_bytes_ / 4 * 3); // a timeline is worth a larger page
}

// The size of a block is known only when it is compressed. So a process that takes too much is stored again,
// with fewer blocks one by one.
void ReportPage::add(report::ProcessAnalysis& analysis, const report::Findings& findings,
                     replay::MemoryId memory, double part) {
  if (processes_.size() == kMostTimelines) return;
  if (processes_.empty()) title_ = report::script_and_pid(analysis.facts());
  const double most = part * static_cast<double>(most_bytes_);
  report::PageDetail detail{.bins = part < kSmallPart ? kFewBins : kMostBins,
                            .rows = static_cast<std::uint64_t>(most / kBytesOfRow)};
  const auto bytes_before = static_cast<double>(report::bytes_in_file(block_));
  const report::PageBlock block_before = block_;
  const report::PageTexts texts_before = texts_;
  while (true) {
    report::Json process =
        report::add_process(block_, texts_, processes_.size(), analysis, findings, memory, detail);
    const auto stored = process["rows"].get<std::uint64_t>();
    const double bytes = static_cast<double>(report::bytes_in_file(block_)) - bytes_before;
    if (bytes <= most || stored == 0) {
      processes_.push_back(std::move(process));
      return;
    }
    block_ = block_before;
    texts_ = texts_before;
    detail.rows =
        static_cast<std::uint64_t>(0.9 * most / bytes * static_cast<double>(std::min(stored, detail.rows)));
  }
}

std::string ReportPage::take(const Documents& documents, const std::string& text) && {
  texts_.write(block_);
  block_.add_text(
      "documents",
      fmt::format(R"({{"report":{},"postmortem":{},"explain":{},"first_vs_steady":{},"diff":{}}})",
                  or_null(documents.report), or_null(documents.postmortem), or_null(documents.explain),
                  or_null(documents.first_vs_steady), or_null(documents.diff)));
  block_.add_text("page", report::json_line({{"version", MEMTRACE_VERSION},
                                             {"mode", documents.diff.empty() ? "report" : "diff"},
                                             {"roles", role_names()},
                                             {"kinds", names(format::kKindNames)},
                                             {"bands", names(replay::kBandNames)},
                                             {"processes", std::move(processes_)}}));
  return report::html_file({title_, text, std::move(block_).take()});
}

} // namespace memtrace::cli
