// Purpose: collects the processes of a report into one HTML page.
#include "analyzer/cli/commands/report_page.h"

#include <fmt/core.h>
#include <unistd.h>

#include "analyzer/cli/commands/diff_command.h"
#include "analyzer/explain/bytes_per_parameter.h"
#include "analyzer/explain/nothing_to_show.h"
#include "analyzer/job/usage_error.h"
#include "analyzer/print/json/explain_json.h"
#include "analyzer/timeline/band.h"
#include "analyzer/wording/labels.h"

#ifndef MEMTRACE_VERSION
#error "the build defines MEMTRACE_VERSION"
#endif

namespace memtrace::cli {
namespace {

// The leading process gets most of the page: the timelines of the others show when they grew.
constexpr std::size_t kBins = 4096;
constexpr std::uint64_t kBytesOfRow = 4; // at least, as the file has them: a first guess
constexpr std::size_t kOtherBins = 512;
constexpr std::uint64_t kOtherRows = 20'000;
constexpr double kLeadingPart = 0.8; // of the page

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

// Returns the text that `make` returns, or "null" if the trace has nothing to show.
template <class Make>
std::string document(Make make) {
  try {
    return make();
  } catch (const report::NothingToShow&) {
    return "null";
  }
}

} // namespace

void check_page(const std::string& output) {
  if (!report::has_page())
    throw report::UsageError(
        "--format html: this memtrace was built without esbuild, so it has no page; install esbuild and build "
        "it "
        "again, or use --format text or json");
  if (output.empty() && isatty(STDOUT_FILENO) != 0)
    throw report::UsageError("--format html writes a file, not to a terminal: add -o report.html");
}

void ReportPage::add(report::ProcessAnalysis& analysis, const report::Findings& findings) {
  const replay::MemoryId memory = report::main_memory(analysis, findings, options_.memory);
  const bool leads = processes_.empty();
  if (processes_.size() == kMostTimelines) return;
  const std::uint64_t share = most_bytes_ / 10 / (kBytesOfRow * std::min(expected_, kMostTimelines));
  const report::PageDetail detail{.bins = kOtherBins, .rows = std::min(kOtherRows, share)};
  report::Json process =
      leads ? add_leading(analysis, findings, memory)
            : report::add_process(block_, texts_, processes_.size(), analysis, findings, memory, detail);
  process["report"] = processes_.size();
  processes_.push_back(std::move(process));
  if (!leads) return;
  title_ = report::script_and_pid(analysis.facts());
  add_answers(analysis, memory);
}

// Stores as many blocks one by one as the page has room for. Their size is known only when they are compressed.
report::Json ReportPage::add_leading(report::ProcessAnalysis& analysis, const report::Findings& findings,
                                     replay::MemoryId memory) {
  const auto most = static_cast<std::uint64_t>(kLeadingPart * static_cast<double>(most_bytes_));
  report::PageDetail detail{.bins = kBins, .rows = most / kBytesOfRow};
  while (true) {
    block_ = {};
    texts_ = {};
    report::Json process = report::add_process(block_, texts_, 0, analysis, findings, memory, detail);
    const std::uint64_t stored = process["rows"].get<std::uint64_t>();
    const std::uint64_t bytes = report::bytes_in_file(block_);
    if (bytes <= most || stored == 0) return process;
    const double part = static_cast<double>(most) / static_cast<double>(bytes);
    detail.rows = static_cast<std::uint64_t>(0.9 * part * static_cast<double>(std::min(stored, detail.rows)));
  }
}

void ReportPage::add_answers(report::ProcessAnalysis& analysis, replay::MemoryId memory) {
  explain_ = document([&] {
    return report::json_line(
        report::explain_json(report::explain(analysis, memory, std::nullopt), std::nullopt));
  });
  first_vs_steady_ = document([&] { return first_and_typical_json(analysis, memory); });
}

std::string ReportPage::take(const Documents& documents, const std::string& text) && {
  texts_.write(block_);
  block_.add_text(
      "documents",
      fmt::format(R"({{"report":{},"postmortem":{},"explain":{},"first_vs_steady":{},"diff":null}})",
                  documents.report, documents.postmortem.empty() ? "null" : documents.postmortem, explain_,
                  first_vs_steady_));
  block_.add_text("page", report::json_line({{"version", MEMTRACE_VERSION},
                                             {"mode", "report"},
                                             {"roles", role_names()},
                                             {"kinds", names(format::kKindNames)},
                                             {"bands", names(replay::kBandNames)},
                                             {"processes", std::move(processes_)}}));
  return report::html_file({title_, text, std::move(block_).take()});
}

} // namespace memtrace::cli
