// Purpose: `memtrace pack` and `memtrace unpack`.
#include "analyzer/cli/commands/pack_command.h"

#include <unistd.h>

#include <cstdio>
#include <optional>

#include "analyzer/archive/pack_reader.h"
#include "analyzer/archive/unpacked_files.h"
#include "analyzer/cli/common/output.h"
#include "analyzer/cli/common/progress_meter.h"
#include "analyzer/files/warning.h"
#include "analyzer/job/trace_lookup.h"
#include "analyzer/job/usage_error.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::cli {

report::PackedJob pack_traces(const std::vector<std::string>& traces, const std::string& output) {
  check_packed_file(output);
  Meter meter(STDERR_FILENO);
  return report::pack_job(traces, output, false, meter);
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

int unpack_command(const UnpackArguments& arguments) {
  const std::optional<std::string> cut = archive::open(arguments.packed);
  if (!cut)
    throw report::UsageError(arguments.packed + ": is not a packed file; name one that memtrace pack wrote");
  if (!cut->empty()) files::warn(*cut);
  const std::size_t count = archive::write_files(arguments.packed, arguments.output);
  std::fprintf(stderr, "memtrace: unpacked %zu %s into %s\n", count, count == 1 ? "file" : "files",
               report::printable(arguments.output).c_str());
  return cut->empty() ? 0 : 1; // files are missing
}

} // namespace memtrace::cli
