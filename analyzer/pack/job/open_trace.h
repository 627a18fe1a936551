// Purpose: the trace of a process: that of the survey if it is still open, else opened for the moment.
#pragma once

#include <memory>

#include "analyzer/job/job_process.h"

namespace memtrace::report {

class OpenTrace {
 public:
  OpenTrace(const Process& process, trace::Progress& progress)
      : own_(process.trace ? nullptr : std::make_unique<trace::Trace>(process.path, &progress)),
        trace_(own_ ? own_.get() : process.trace.get()) {}

  const trace::Trace& operator*() const { return *trace_; }
  const trace::Trace* operator->() const { return trace_; }

 private:
  std::unique_ptr<trace::Trace> own_;
  const trace::Trace* trace_;
};

} // namespace memtrace::report
