// Purpose: all files of one process in a directory, and the report of them.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "analyzer/findings/all_findings.h"
#include "analyzer/print/json/document.h"
#include "analyzer/print/text/report_text.h"
#include "builder.h"
#include "parsed.h"
#include "window_files.h"

namespace memtrace::tests {

class Folder : public testing::Test {
 protected:
  std::string file(const std::string& suffix) const { return scratch_.file("t" + suffix); }
  void write(const std::string& suffix, const std::string& bytes) { write_file(file(suffix), bytes); }
  std::uint64_t file_bytes() const {
    std::uint64_t sum = 0;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_.path())) sum += entry.file_size();
    return sum;
  }
  report::ProcessAnalysis& analysis() {
    auto trace = std::make_unique<trace::Trace>(file(".memtrace"));
    report::ProcessEnd end = report::read_end(*trace);
    analysis_ = report::analyze_process(std::move(trace), "main", std::move(end), options);
    return *analysis_;
  }
  report::Json process() {
    report::Document document(options);
    report::ProcessAnalysis& open = analysis();
    document.add(open, report::find(open));
    return parsed(std::move(document))["processes"][0];
  }
  std::string text() {
    report::ProcessAnalysis& open = analysis();
    return process_text(open, report::find(open), options, look);
  }
  static report::Json row(const report::Json& process, const std::string& phase, std::int64_t step) {
    for (const report::Json& row : process["phases"]) {
      if (row["memory"] == "host" && row["phase"] == phase && row["step"] == step) return row;
    }
    ADD_FAILURE() << "no row " << phase << " of step " << step;
    return report::Json::object();
  }

  report::Options options;
  report::TextStyle look;

 private:
  Scratch scratch_;
  std::unique_ptr<report::ProcessAnalysis> analysis_;
};

} // namespace memtrace::tests
