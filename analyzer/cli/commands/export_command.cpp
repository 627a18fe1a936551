// Purpose: `memtrace export`.
#include "analyzer/cli/commands/export_command.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "analyzer/cli/common/main_process.h"
#include "analyzer/cli/common/python_pipe.h"
#include "analyzer/cli/common/python_start.h"
#include "analyzer/export/profiles/folded_stacks.h"
#include "analyzer/export/profiles/pprof_profile.h"
#include "analyzer/export/profiles/speedscope_profile.h"
#include "analyzer/export/tables/fleet_rows.h"
#include "analyzer/export/tables/job_tables.h"
#include "analyzer/export/timeline/perfetto_trace.h"
#include "analyzer/export/torch/snapshot_export.h"
#include "analyzer/findings/all_findings.h"
#include "analyzer/findings/process/across_processes.h"
#include "analyzer/job/job_survey.h"
#include "analyzer/job/trace_lookup.h"

namespace memtrace::cli {
namespace {

using report::ProcessAnalysis;

void write_stacks(const ExportArguments& arguments, ProcessAnalysis& analysis, Output& output) {
  const report::HeldBlocks held =
      report::held_at_peak(analysis, report::leading_peak(analysis, memory_of(analysis, arguments.memory)));
  report::write_folded(analysis, report::call_tree(analysis, held, {}),
                       [&output](std::string_view part) { output.write(part); });
}

void write_pprof(const ExportArguments& arguments, ProcessAnalysis& analysis, Output& output) {
  const replay::MemoryId memory = memory_of(analysis, arguments.memory);
  output.write(
      report::pprof_profile(analysis, report::held_at_peak(analysis, report::leading_peak(analysis, memory))));
}

// Writes the peak of each memory, or that of --memory alone.
void write_all_peaks(const ExportArguments& arguments, ProcessAnalysis& analysis, Output& output) {
  const replay::MemoryId main = memory_of(analysis, arguments.memory);
  std::vector<report::HeldBlocks> peaks;
  std::size_t shown = 0;
  for (const auto& [memory, peak] : analysis.account.peaks) {
    if (memory != main && !arguments.memory.empty()) continue;
    if (memory == main) shown = peaks.size();
    peaks.push_back(report::held_at_peak(analysis, report::leading_peak(analysis, memory)));
  }
  report::write_speedscope(analysis, peaks, shown, [&output](std::string_view part) { output.write(part); });
}

void write_snapshot(const ExportArguments& arguments, ProcessAnalysis& analysis, Output& output) {
  const report::LeadingPeak peak = report::leading_peak(analysis, memory_of(analysis, arguments.memory));
  report::write_torch_snapshot(analysis, peak, [&output](std::string_view part) { output.write(part); });
}

// A format, and what writes it. `binary`: a terminal cannot show it.
struct Writer {
  const char* name;
  bool binary;
  void (*write)(const ExportArguments& arguments, ProcessAnalysis& analysis, Output& output);
};
constexpr Writer kWriters[] = {
    {"folded", false, write_stacks},
    {"speedscope", false, write_all_peaks},
    {"pprof", true, write_pprof},
    {"torch-snapshot", true, write_snapshot},
};

const Writer& writer_of(const std::string& format) {
  for (const Writer& one : kWriters)
    if (one.name == format) return one;
  throw report::UsageError("--to " + format + ": not a format");
}

// Gives each process of the job to `take`, the one that the report leads with first. One at a time is in
// memory.
template <class Take>
void each_process(const std::string& trace, Meter& meter, Take take) {
  std::vector<report::Process> processes = report::survey(report::find_traces(trace), {}, meter);
  for (report::Process& process : processes) {
    if (!process.trace) process.trace = std::make_unique<trace::Trace>(process.path, &meter);
    take(*report::analyze_process(std::move(process.trace), process.kind, process.end, {}));
  }
}

void export_database(const ExportArguments& arguments, Meter& meter) {
  if (arguments.output.empty())
    throw report::UsageError("--to sqlite: a database is a file; name it with -o FILE");
  check_packed_file(arguments.output);
  report::JobTables tables(arguments.output);
  each_process(arguments.trace, meter,
               [&tables](report::ProcessAnalysis& analysis) { tables.add(analysis, report::find(analysis)); });
  tables.finish();
}

// The program that writes the files has ended and said why.
struct WriterEnded {};

// Writes the job as files of Parquet. The rows of a rank lie together, so only one rank is in memory there.
int export_parquet(const ExportArguments& arguments, Meter& meter) {
  if (arguments.output.empty())
    throw report::UsageError("--to parquet: writes a directory; name it with -o DIR");
  const std::vector<std::string> files = report::find_traces(arguments.trace);
  PythonPipe writer(
      {arguments.python, "-c",
       python_program("export", "fleet.parquet_files", "the writer of Parquet", "fleet"), arguments.output},
      "name a Python that has pyarrow: --python FILE");
  if (!writer.is_ready()) return writer.finish();
  std::vector<report::Process> processes = report::survey(files, {}, meter);
  std::stable_sort(processes.begin(), processes.end(), [](const report::Process& a, const report::Process& b) {
    return a.facts.rank < b.facts.rank;
  });
  const bool workers = std::any_of(processes.begin(), processes.end(),
                                   [](const report::Process& process) { return process.kind == "worker"; });
  try {
    report::FleetRows rows([&writer](std::string_view part) {
      if (!writer.write(part)) throw WriterEnded();
    });
    report::JobFindings across;
    for (report::Process& process : processes) {
      if (!process.trace) process.trace = std::make_unique<trace::Trace>(process.path, &meter);
      const auto analysis = report::analyze_process(std::move(process.trace), process.kind, process.end, {});
      const report::Findings findings = report::find(*analysis);
      across.add(*analysis, findings, workers);
      rows.add(*analysis, findings);
    }
    rows.add_job(across.find());
    rows.finish();
  } catch (const WriterEnded&) {
  }
  return writer.finish();
}

// Throws UsageError if a binary format would go to a terminal.
void check_terminal(const ExportArguments& arguments) {
  if (arguments.output.empty() && ::isatty(STDOUT_FILENO) != 0)
    throw report::UsageError("--to " + arguments.to +
                             ": is binary, which a terminal cannot show; name a file with -o FILE");
}

void export_timeline(const ExportArguments& arguments, Meter& meter) {
  check_terminal(arguments);
  check_report_file(arguments.output);
  std::optional<Output> output; // opened when a trace could be read
  report::PerfettoPackets packets([&output](std::string_view part) { output->write(part); });
  each_process(arguments.trace, meter, [&](report::ProcessAnalysis& analysis) {
    if (!output) output.emplace(arguments.output);
    report::write_perfetto(analysis, report::find(analysis), packets);
  });
  if (output) output->finish();
}

void export_profile(const ExportArguments& arguments, Meter& meter) {
  const Writer& writer = writer_of(arguments.to);
  if (writer.binary) check_terminal(arguments);
  check_report_file(arguments.output);
  const auto analysis = main_view(arguments.trace, meter);
  Output output(arguments.output);
  writer.write(arguments, *analysis, output);
  meter.clear();
  output.finish();
}

} // namespace

int export_command(const ExportArguments& arguments) {
  Meter meter(STDERR_FILENO);
  int status = 0;
  if (arguments.to == "parquet")
    status = export_parquet(arguments, meter);
  else if (arguments.to == "sqlite")
    export_database(arguments, meter);
  else if (arguments.to == "perfetto")
    export_timeline(arguments, meter);
  else
    export_profile(arguments, meter);
  meter.clear();
  return status;
}

} // namespace memtrace::cli
