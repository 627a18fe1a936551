// Room: cli.
// Job: the processes of a job: what each was, how it ended, and what is known of that from elsewhere.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/cli/meter.h"
#include "analyzer/evidence/ends.h"
#include "analyzer/report/ending.h"
#include "analyzer/trace/trace.h"

namespace memtrace::cli {

struct Process {
  std::string path;
  std::string kind; // of the contract: main, worker, rank, child
  trace::Facts facts;
  trace::Samples samples;
  std::string directory;               // of its cgroup; "": not known
  std::unique_ptr<trace::Trace> trace; // of the only one: reading it twice takes its time
  report::Ending end;
  bool failed = false; // it gave up, and an allocation of it had failed
  std::optional<evidence::End>
      watched; // as `memtrace run` saw it, of one that its trace does not tell the end of
  std::unique_ptr<evidence::Evidence> evidence; // of one that its trace does not tell the end of
  evidence::Subject subject;                    // of such a one, too
};

// Main first, then as they began. A file that cannot be read is talked about, unless it is the only one. What
// others say of an end is read once and kept beside the trace; `brought` are files to add to it.
std::vector<Process> survey(const std::vector<std::string>& files, const std::vector<std::string>& brought,
                            Meter& meter);

// Saved, and as it will be read again, so that the first report says what later ones do.
void keep(evidence::Evidence& evidence, const std::string& store);

// One piece after the other, to stdout where `output` is "".
void write_all(const std::vector<std::string>& pieces, const std::string& output);

} // namespace memtrace::cli
