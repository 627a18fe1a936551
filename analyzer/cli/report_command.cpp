// Room: cli.
// Job: `memtrace report`.
#include "cli/report_command.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <set>
#include <tuple>

#include "cli/find.h"
#include "cli/meter.h"
#include "cli/usage.h"
#include "report/json.h"
#include "report/text.h"
#include "trace/fault.h"

namespace memtrace::cli {
namespace {

struct Process {
  std::string path;
  std::string kind;
  trace::Facts facts;
  std::unique_ptr<trace::Trace> trace; // of the only one: reading it twice takes its time
};

// What a process was to its job, as far as one trace and its neighbours tell.
std::string kind_of(const trace::Facts& facts, const std::set<std::uint32_t>& pids) {
  if (const auto said = facts.note("kind")) {
    for (const char* known : {"main", "worker", "rank", "child"}) {
      if (*said == known) return known;
    }
  }
  if (facts.rank != trace::kNoRank && facts.world_size > 1) return "rank";
  if (facts.fork && facts.data_phases) return "worker"; // forked by a loader, whose phase it inherited
  if (facts.fork || pids.contains(facts.ppid)) return "child";
  return "main";
}

// Main first, then as they began. A file that cannot be read is talked about, unless it is the only one.
std::vector<Process> survey(const std::vector<std::string>& files, Meter& meter) {
  std::vector<Process> processes;
  for (const std::string& file : files) {
    try {
      if (files.size() > 1)
        meter.on(fmt::format("looking at trace {} of {}", processes.size() + 1, files.size()));
      auto trace = std::make_unique<trace::Trace>(file, &meter);
      const trace::Facts facts = trace->facts();
      if (files.size() > 1) trace.reset();
      processes.push_back({file, "", facts, std::move(trace)});
    } catch (const trace::Fault& fault) {
      if (files.size() == 1) throw;
      meter.clear();
      spdlog::warn("{}", fault.what());
    }
  }
  if (processes.empty())
    throw Usage(files.front() + ": neither this nor any other trace of its directory can be read");
  std::set<std::uint32_t> pids;
  for (const Process& process : processes) pids.insert(process.facts.pid);
  for (Process& process : processes) process.kind = kind_of(process.facts, pids);
  std::sort(processes.begin(), processes.end(), [](const Process& a, const Process& b) {
    const auto order = [](const Process& p) {
      return std::tuple(p.kind != "main", p.facts.rank, p.facts.start_unix_ns, p.facts.pid, p.path);
    };
    return order(a) < order(b);
  });
  return processes;
}

void check_memory(const report::Options& options, const report::View& view) {
  if (!options.memory) return;
  const auto memory = report::memory_named(*options.memory);
  if (memory && view.account.peaks.contains(*memory)) return;
  std::string known;
  for (const auto& [id, peaks] : view.account.peaks)
    known += (known.empty() ? "" : ", ") + report::memory_name(id);
  throw Usage("--memory " + *options.memory + ": not in this trace; it has " + known);
}

void write_all(const std::string& text, const std::string& output) {
  std::FILE* file = output.empty() ? stdout : std::fopen(output.c_str(), "wb");
  if (file == nullptr) throw Usage(output + ": cannot be written; name another file with -o");
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool flushed = output.empty() ? std::fflush(file) == 0 : std::fclose(file) == 0;
  if (!written || !flushed)
    throw Usage((output.empty() ? "stdout" : output) + ": could not be written in full");
}

} // namespace

int report_command(const ReportArguments& arguments) {
  report::Options options = arguments.options;
  options.peak_top = arguments.all ? std::numeric_limits<std::size_t>::max() : options.top;
  if (options.memory && !report::memory_named(*options.memory)) {
    throw Usage("--memory " + *options.memory + ": expected host or cuda:N");
  }
  report::Look look;
  look.color = arguments.output.empty() && ::isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  look.all_steps = options.steps.all || options.steps.range.has_value();
  if (arguments.all || arguments.top_given) look.holders = options.peak_top;

  Meter meter(STDERR_FILENO);
  std::vector<Process> processes = survey(find_traces(arguments.trace), meter);
  const bool json = arguments.format == "json";
  report::Document document(options);
  std::string text;
  std::size_t number = 0;
  for (Process& process : processes) {
    ++number;
    if (processes.size() > 1) meter.on(fmt::format("reading trace {} of {}", number, processes.size()));
    // One at a time: memory is that of the largest, not of all.
    if (!process.trace) process.trace = std::make_unique<trace::Trace>(process.path, &meter);
    const auto view = report::view(std::move(process.trace), process.kind, options);
    if (number == 1) check_memory(options, *view);
    if (json) {
      document.add(*view);
    } else if (number == 1 || !view->findings.empty()) {
      if (number > 1) text += "\n";
      text += report::process_text(*view, options, look);
      if (number == 1 && processes.size() > 1) text += "\n";
    } else {
      text += report::process_line(*view);
    }
  }
  meter.clear();
  write_all(json ? std::move(document).take().dump(2) + "\n" : text, arguments.output);
  return 0;
}

} // namespace memtrace::cli
