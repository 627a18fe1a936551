// Purpose: the options of the recorder, which reads their values from the environment; `memtrace run`.
#include <cstdint>
#include <memory>

#include "analyzer/cli/options/recorder_options.h"
#include "analyzer/cli/options/subcommands.h"
#include "analyzer/watch/memory_limit.h"
#include "preload/format/setting_values.h"

namespace memtrace::cli {
namespace {

// The recorder takes an empty value as none, so no check refuses it.

// CLI::AsSizeValue accepts other units than the recorder: "1kb", "1T".
std::string check_size(const std::string& text) {
  std::uint64_t bytes = 0;
  return text.empty() || format::parse_size(text.c_str(), &bytes)
             ? ""
             : text + " is not a size: expected bytes, with K, M or G, as in 512K";
}

template <std::size_t N>
std::string check_choice(const char* const (&names)[N], std::string text) {
  return text.empty() ? "" : CLI::IsMember(std::vector<std::string>(names, names + N))(text);
}

std::string check_stacks(const std::string& text) {
  return check_choice(format::kStackNames, text);
}

std::string check_phases(const std::string& text) {
  return check_choice(format::kPhaseSourceNames, text);
}

std::string check_cupti(const std::string& text) {
  return check_choice(format::kCuptiNames, text);
}

std::string check_shared(const std::string& text) {
  if (format::parse_seconds(text.c_str()) != 0) return "";
  const std::string refused = check_choice(format::kSharingNames, text);
  return refused.empty() ? "" : refused + ", or the seconds between two copies, from 1 to 3600";
}

std::string check_threshold(const std::string& text) {
  return watch::threshold_of(text)
             ? ""
             : text + " is neither a share such as 90%, below 100%, nor a size that is left, such as 4G";
}

std::string check_metrics_file(const std::string& text) {
  return text.ends_with(".prom") ? ""
                                 : text + " does not end in .prom, so the textfile collector does not read it";
}

// The options of what runs beside the program.
void add_watch_options(CLI::App& command, WatchArguments& arguments) {
  command
      .add_option_function<std::string>(
          "--warn-at", [&arguments](const std::string& text) { arguments.warn_at = watch::threshold_of(text); },
          "say on stderr when the job has used this share of a limit that would end it, or when less than SIZE "
          "is left; with --on-near-limit: 90%")
      ->type_name("90%|SIZE")
      ->check(check_threshold);
  command
      .add_option("--on-near-limit", arguments.on_near_limit,
                  "then also run this command line of sh, once, beside the program")
      ->type_name("CMD")
      ->check([](const std::string& text) { return text.empty() ? "expected a command line for sh" : ""; });
  CLI::Option* const metrics =
      command
          .add_option(
              "--metrics-file", arguments.metrics_file,
              "while the program runs, write its figures to this file every 5 s, for the textfile collector "
              "of Prometheus' node exporter; its name ends in .prom")
          ->type_name("FILE.prom")
          ->check(check_metrics_file);
  command
      .add_flag(
          "--metrics-roles", arguments.metrics_roles,
          "with --metrics-file: write what each role holds, too; this replays the trace beside the program")
      ->needs(metrics);
}

std::string check_grid(const std::string& text) {
  return text.empty() || format::parse_grid(text.c_str()) != 0
             ? ""
             : text +
                   " is not a grid of ranks: expected the sizes of its axes, slowest first, as in "
                   "pp=2,dp=4,tp=8";
}

constexpr RecorderOption kRecorderOptions[] = {
    {"-o", "MEMTRACE_OUT", "DIR",
     "directory of the traces (memtrace-out/%j); %j: the job's id, new for each run; %p: pid, %h: host, %r: "
     "rank"},
    {"--spool", "MEMTRACE_SPOOL", "DIR",
     "directory of the ring files, on a local disk (beside the traces; else TMPDIR or /tmp)"},
    {"--shared", "MEMTRACE_SHARED", "auto|on|off|SECONDS",
     "on: record to a local disk, and copy to the directory of the traces every 30 s, or SECONDS, and at the "
     "end; auto: do so if that directory is on a shared file system (auto)",
     check_shared},
    {"--exact-min", "MEMTRACE_EXACT_MIN", "SIZE",
     "record each block of at least SIZE bytes with its stack; K, M, G: powers of 1024 (4096)", check_size},
    {"--sample", "MEMTRACE_SAMPLE", "SIZE",
     "of smaller blocks, record one stack per SIZE bytes on average (512K)", check_size},
    {"--stacks", "MEMTRACE_STACKS", "python|native|both|none", "which frames a stack has (both)", check_stacks},
    {"--max-trace", "MEMTRACE_MAX_TRACE", "SIZE",
     "bound of the main process's files; a worker or child gets an eighth (256M)", check_size},
    {"--max-node", "MEMTRACE_MAX_NODE", "SIZE", "bound of all files of the job on this host (4G)", check_size},
    {"--phases", "MEMTRACE_PHASES", "auto|marks|off",
     "auto: phases of PyTorch, and those that you mark; marks: only those; off: none (auto)", check_phases},
    {"--cupti", "MEMTRACE_CUPTI", "auto|on|off",
     "on: record GPU memory through CUPTI, which no profiler can then use; auto, off: through hooks (auto)",
     check_cupti},
    {"--nvtx-domains", "MEMTRACE_NVTX_DOMAINS", "NAMES",
     "NVTX domains, separated by commas, whose ranges become phases (none); the unnamed domain's always do"},
    {"--ranks", "MEMTRACE_RANKS", "GRID",
     "sizes of the grid of ranks, slowest axis first, as in pp=2,dp=4,tp=8; the report names each rank's place "
     "(from the program)",
     check_grid},
    {"--only", "MEMTRACE_ONLY", "GLOBS",
     "trace only programs whose file names match, as in 'python*,train' (all)"},
    {"--skip", "MEMTRACE_SKIP", "GLOBS",
     "do not trace programs whose file names match (compilers, build tools, shells, git)"},
    {"--min-peak", "MEMTRACE_MIN_PEAK", "SIZE",
     "a process that never holds SIZE and marks no phase leaves no trace (32M)", check_size},
    {"--armed", "MEMTRACE", nullptr, "count only, and record from `memtrace arm` on", nullptr, "armed"},
    {"--arm-at", "MEMTRACE_ARM_AT", "SIZE", "of an armed process: record once it holds SIZE, too", check_size},
    {"--arm-growth", "MEMTRACE_ARM_GROWTH", "SIZE",
     "of an armed process: record once its lowest level of a minute grew by SIZE, too", check_size},
    {"--quiet", "MEMTRACE_QUIET", nullptr, "print nothing, not even where the traces are"},
};

} // namespace

std::span<const RecorderOption> recorder_options() {
  return kRecorderOptions;
}

void add_recorder_options(CLI::App& command, Variables& variables) {
  for (const RecorderOption& one : kRecorderOptions) {
    const auto set = [&variables, &one](const std::string& value) {
      variables.emplace_back(one.variable, value);
    };
    if (one.value == nullptr) {
      command.add_flag_callback(
          one.option, [set, &one] { set(one.flag); }, one.help);
      continue;
    }
    CLI::Option* const option = command.add_option_function<std::string>(one.option, set, one.help);
    option->type_name(one.value);
    if (one.check != nullptr) option->check(one.check);
  }
}

void add_run(CLI::App& app, const std::vector<std::string>& command,
             const std::function<void(const RunArguments&)>& parsed) {
  const auto arguments = std::make_shared<RunArguments>();
  arguments->command = command;
  CLI::App* const run =
      app.add_subcommand("run", "record a program: memtrace run [options] -- python train.py");
  add_recorder_options(*run, arguments->variables);
  CLI::Option* const pack = run->add_option("--pack", arguments->pack,
                                            "when the program has ended, pack its traces into this new file")
                                ->type_name("FILE");
  run->add_flag("--only-packed", arguments->only_packed,
                "remove the traces when they are in the file of --pack")
      ->needs(pack);
  add_watch_options(*run, arguments->watch);
  run->callback([arguments, parsed] {
    if (arguments->command.empty())
      throw CLI::ValidationError("run", "expected a command behind --, as in: memtrace run -- python train.py");
    parsed(*arguments);
  });
}

} // namespace memtrace::cli
