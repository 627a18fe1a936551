// Purpose: `memtrace pack`.
#include "analyzer/cli/commands/pack_command.h"

#include <unistd.h>

#include <cstdio>

#include "analyzer/cli/common/output.h"
#include "analyzer/cli/common/progress_meter.h"
#include "analyzer/job/trace_lookup.h"
#include "analyzer/pack/job/pack_job.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::cli {

void pack_traces(const std::vector<std::string>& traces, const std::string& output) {
  check_packed_file(output);
  Meter meter(STDERR_FILENO);
  report::pack_job(traces, output, false, meter);
}

int pack_command(const PackArguments& arguments) {
  check_packed_file(arguments.output);
  Meter meter(STDERR_FILENO);
  const report::PackedJob packed =
      report::pack_job(report::find_traces(arguments.trace), arguments.output, arguments.redact, meter);
  std::fprintf(stderr, "memtrace: packed %zu %s into %s, %s\n", packed.traces,
               packed.traces == 1 ? "trace" : "traces", report::printable(arguments.output).c_str(),
               report::sized(packed.bytes).c_str());
  return 0;
}

} // namespace memtrace::cli
