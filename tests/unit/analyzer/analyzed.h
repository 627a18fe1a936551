// Purpose: the analysis of a trace that a test builds.
#pragma once

#include <memory>

#include "analyzer/explain/process_analysis.h"
#include "builder.h"

namespace memtrace::tests {

class Analyzed {
 public:
  explicit Analyzed(Builder& builder) {
    write_file(scratch_.file("t.memtrace"), builder.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch_.file("t.memtrace"));
    report::ProcessEnd end = report::read_end(*trace);
    analysis_ = report::analyze_process(std::move(trace), "main", std::move(end), {});
  }

  report::ProcessAnalysis& operator*() const { return *analysis_; }
  report::ProcessAnalysis* operator->() const { return analysis_.get(); }

 private:
  Scratch scratch_;
  std::unique_ptr<report::ProcessAnalysis> analysis_;
};

} // namespace memtrace::tests
