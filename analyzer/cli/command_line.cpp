// Purpose: parses argv into a command and its arguments.
#include "analyzer/cli/command_line.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>
#include <vector>

#include "analyzer/files/read_budget.h"
#include "analyzer/job/usage_error.h"
#include "analyzer/symbols/debug_lines.h"

#ifndef MEMTRACE_VERSION
#error "the build says which version this is"
#endif

namespace memtrace::cli {
namespace {

constexpr const char* kCommands[] = {"report", "diff", "explain", "postmortem", "run", "doctor"};
constexpr const char* kNotYet[] = {"top", "export", "check"};

struct RunOption {
  const char* option;
  const char* variable;
  const char* help;
};
// Each option sets one environment variable of the recorder.
constexpr RunOption kRunOptions[] = {
    {"-o", "MEMTRACE_OUT", "directory of the traces; %p pid, %h host, %r rank, %j job"},
    {"--spool", "MEMTRACE_SPOOL", "directory of the rings, on a local disk"},
    {"--exact-min", "MEMTRACE_EXACT_MIN", "blocks of at least this size are recorded one by one (4096)"},
    {"--sample", "MEMTRACE_SAMPLE", "smaller blocks: a stack every so many bytes (512K)"},
    {"--stacks", "MEMTRACE_STACKS", "python, native, both or none (both)"},
    {"--max-trace", "MEMTRACE_MAX_TRACE", "bound of one process's files (256M)"},
    {"--max-node", "MEMTRACE_MAX_NODE", "bound of the job's files on this host (4G)"},
    {"--phases", "MEMTRACE_PHASES", "auto, marks or off (auto)"},
    {"--cupti", "MEMTRACE_CUPTI", "auto, on or off (auto)"},
    {"--only", "MEMTRACE_ONLY", "trace only programs whose names match these globs"},
    {"--skip", "MEMTRACE_SKIP", "leave programs whose names match these globs alone"},
    {"--min-peak", "MEMTRACE_MIN_PEAK", "processes that never hold so much leave no trace (32M)"},
};

std::uint64_t number(const std::string& text, const std::string& whole) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw report::UsageError("--steps " + whole + ": expected A:B, two step numbers, as in 0:9");
  }
  return value;
}

// Returns both steps of "A:B", in any order. "A" gives A twice.
replay::StepRange step_pair(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return {number(text, text), number(text, text)};
  return {number(text.substr(0, colon), text), number(text.substr(colon + 1), text)};
}

replay::StepRange step_range(const std::string& text) {
  const replay::StepRange range = step_pair(text);
  if (range.from > range.to)
    throw report::UsageError("--steps " + text + ": the first step is behind the last");
  return range;
}

void add_trace(CLI::App& command, std::string& into) {
  command.add_option("TRACE", into,
                     "a trace or a directory of them; default: the newest job under memtrace-out");
}

template <class Arguments>
void add_output(CLI::App& command, Arguments& into) {
  command.add_option("--format", into.format, "text or json");
  command.add_option("-o", into.output, "write to this file");
}

// The size of the traces bounds the memory and work of reading. --unbounded lifts both limits for the whole
// command.
void add_unbounded(CLI::App& command) {
  command.add_flag_callback(
      "--unbounded", [] { files::Budget::of_command().lift(); },
      "no bound of memory and work (1 GiB and 4 times the size of the files)");
}

void add_debuginfod(CLI::App& command) {
  command.add_flag_callback("--debuginfod", symbols::allow_debuginfod,
                            "ask the servers of DEBUGINFOD_URLS for lines of native code");
}

struct ReportOptions {
  ReportArguments arguments;
  std::string steps;
  std::string memory;
};

CLI::App* add_report(CLI::App& app, ReportOptions& into) {
  CLI::App* command = app.add_subcommand("report", "who held what, in which phase, and when it peaked");
  add_trace(*command, into.arguments.trace);
  command->add_option("--memory", into.memory, "host or cuda:N");
  command->add_option("--steps", into.steps, "A:B, these steps one by one");
  command->add_flag("--all-steps", into.arguments.options.steps.all, "every step");
  command->add_flag("--all", into.arguments.all, "every row of what the process's peaks hold");
  command->add_option("--top", into.arguments.options.top, "rows of what a peak holds (20; text: 12)")
      ->check(CLI::Range(std::size_t{0}, std::size_t{1} << 20));
  add_output(*command, into.arguments);
  add_unbounded(*command);
  add_debuginfod(*command);
  return command;
}

void check_format(const std::string& format) {
  if (format == "html") throw report::UsageError("--format html: not supported yet; use text or json");
  if (format != "text" && format != "json")
    throw report::UsageError("--format " + format + ": expected text or json");
}

struct PostmortemOptions {
  PostmortemArguments arguments;
  std::uint32_t rank = 0;
};

CLI::App* add_postmortem(CLI::App& app, PostmortemOptions& into) {
  CLI::App* command =
      app.add_subcommand("postmortem", "how it ended, who held memory then, what would have fit");
  add_trace(*command, into.arguments.trace);
  command->add_option("--rank", into.rank, "the process of this rank; default: the one that died first");
  command->add_option("--attempt", into.arguments.attempt,
                      "where a job began anew in its directory: 1 for the first time; default: the last");
  command
      ->add_option("--evidence", into.arguments.evidence,
                   "a pod's JSON, the output of sacct, or a kernel's log from elsewhere; kept beside the trace")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_output(*command, into.arguments);
  add_unbounded(*command);
  add_debuginfod(*command);
  return command;
}

struct DiffOptions {
  DiffArguments arguments;
  std::string steps;
  std::string phases;
};

CLI::App* add_diff(CLI::App& app, DiffOptions& into) {
  CLI::App* command = app.add_subcommand("diff", "what differs between two runs, or two places of one");
  command
      ->add_option("TRACES", into.arguments.traces,
                   "A and B: two runs, each at its peak; one, or none for the newest job, with an option below")
      ->expected(0, 2);
  command->add_flag("--first-vs-steady", into.arguments.first_vs_steady,
                    "the first step that updated, and one of those that are alike");
  command->add_option("--steps", into.steps, "A:B, these two steps of one run; or one, with --phases");
  command->add_option("--phases", into.phases, "P:Q, these two phases of one run; or one, for both sides");
  command->add_option("--memory", into.arguments.memory, "host or cuda:N");
  command->add_option("--top", into.arguments.top, "rows (20)")
      ->check(CLI::Range(std::size_t{0}, std::size_t{1} << 20));
  add_output(*command, into.arguments);
  add_unbounded(*command);
  add_debuginfod(*command);
  return command;
}

Command diff_of(DiffOptions& options) {
  DiffArguments& arguments = options.arguments;
  check_format(arguments.format);
  if (!options.steps.empty()) arguments.steps = step_pair(options.steps);
  if (const std::size_t colon = options.phases.find(':'); colon != std::string::npos)
    arguments.phases = {options.phases.substr(0, colon), options.phases.substr(colon + 1)};
  else if (!options.phases.empty())
    arguments.phases = {options.phases};
  const bool places = arguments.steps || !arguments.phases.empty();
  if (arguments.traces.size() == 2) {
    if (places || arguments.first_vs_steady)
      throw report::UsageError(
          "diff A B compares two runs at their peaks; --steps, --phases and --first-vs-steady are of one run");
  } else if (arguments.first_vs_steady) {
    if (arguments.steps)
      throw report::UsageError("diff: --first-vs-steady and --steps are two questions; ask one");
  } else if (!places) {
    throw report::UsageError(
        "diff: expected two runs, A B, or one with --first-vs-steady, --steps A:B or --phases P:Q");
  } else if (!arguments.phases.empty() && arguments.phases.front() == arguments.phases.back() &&
             (!arguments.steps || arguments.steps->from == arguments.steps->to)) {
    throw report::UsageError(
        "diff: both sides are the same; name two steps (--steps A:B) or two phases (--phases P:Q)");
  } else if (arguments.phases.empty() && arguments.steps->from == arguments.steps->to) {
    throw report::UsageError("diff: both sides are the same; name two steps, as in --steps 0:5");
  }
  return arguments;
}

struct ExplainOptions {
  ExplainArguments arguments;
  std::string parameters;
  std::string project;
};

CLI::App* add_explain(CLI::App& app, ExplainOptions& into) {
  CLI::App* command = app.add_subcommand("explain", "bytes per parameter, line by line, against theory");
  add_trace(*command, into.arguments.trace);
  command->add_option("--params", into.parameters, "so many parameters, as in 7e9; default: what was found");
  command->add_option("--project", into.project, "what so many parameters would take, as in 80e9");
  command->add_option("--memory", into.arguments.memory, "host or cuda:N");
  add_output(*command, into.arguments);
  add_unbounded(*command);
  add_debuginfod(*command);
  return command;
}

// Parses "6921720704", "7e9" or "1.5e9". Returns nullopt if `text` is empty.
std::optional<std::uint64_t> count_of(const char* option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 1 && value <= 1e18))
    throw report::UsageError(std::string(option) + " " + text + ": expected a number of parameters, as in 7e9");
  return static_cast<std::uint64_t>(value);
}

Command explain_of(ExplainOptions& options) {
  check_format(options.arguments.format);
  options.arguments.parameters = count_of("--params", options.parameters);
  options.arguments.project = count_of("--project", options.project);
  return options.arguments;
}

Command report_of(ReportOptions& options, bool top_given) {
  ReportArguments& arguments = options.arguments;
  check_format(arguments.format);
  if (!options.steps.empty()) arguments.options.steps.range = step_range(options.steps);
  if (!options.memory.empty()) arguments.options.memory = options.memory;
  arguments.top_given = top_given;
  return arguments;
}

Command postmortem_of(PostmortemOptions& options, bool rank_given) {
  check_format(options.arguments.format);
  if (rank_given) options.arguments.rank = options.rank;
  return options.arguments;
}

CLI::App* add_doctor(CLI::App& app, DoctorArguments& into) {
  CLI::App* command =
      app.add_subcommand("doctor", "what of this machine memtrace can use, and why not the rest");
  add_output(*command, into);
  return command;
}

Command doctor_of(const DoctorArguments& arguments) {
  check_format(arguments.format);
  return arguments;
}

struct RunOptions {
  std::vector<std::string> values = std::vector<std::string>(std::size(kRunOptions));
  bool quiet = false;
  std::vector<std::string> command; // the words after "--"
};

CLI::App* add_run(CLI::App& app, RunOptions& into) {
  CLI::App* command = app.add_subcommand("run", "run [options] -- CMD...: trace a command");
  for (std::size_t i = 0; i < std::size(kRunOptions); ++i)
    command->add_option(kRunOptions[i].option, into.values[i], kRunOptions[i].help);
  command->add_flag("--quiet", into.quiet, "print nothing");
  return command;
}

Command run_of(const RunOptions& options, const CLI::App& given) {
  RunArguments run;
  for (std::size_t i = 0; i < options.values.size(); ++i) {
    // An empty value has a meaning: --skip '' skips no program.
    if (given.count(kRunOptions[i].option) != 0)
      run.variables.emplace_back(kRunOptions[i].variable, options.values[i]);
  }
  if (options.quiet) run.variables.emplace_back("MEMTRACE_QUIET", "1");
  run.command = options.command;
  if (run.command.empty())
    throw report::UsageError("run: expected a command behind --, as in: memtrace run -- python train.py");
  return run;
}

// All subcommands, with the values that parsing fills in.
class Subcommands {
 public:
  // `behind_dashes`: the words after "--", which are the traced command's own.
  Subcommands(CLI::App& app, std::vector<std::string> behind_dashes) {
    run_.command = std::move(behind_dashes);
    add(add_report(app, report_),
        [this](const CLI::App& given) { return report_of(report_, given.count("--top") != 0); });
    add(add_diff(app, diff_), [this](const CLI::App&) { return diff_of(diff_); });
    add(add_explain(app, explain_), [this](const CLI::App&) { return explain_of(explain_); });
    add(add_postmortem(app, postmortem_),
        [this](const CLI::App& given) { return postmortem_of(postmortem_, given.count("--rank") != 0); });
    add(add_run(app, run_), [this](const CLI::App& given) { return run_of(run_, given); });
    add(add_doctor(app, doctor_), [this](const CLI::App&) { return doctor_of(doctor_); });
  }
  Subcommands(const Subcommands&) = delete;
  Subcommands& operator=(const Subcommands&) = delete;

  // Returns the arguments of the subcommand that was parsed.
  Command parsed() const {
    for (const auto& [command, arguments] : all_)
      if (command->parsed()) return arguments(*command);
    throw report::UsageError("memtrace: expected a command; see memtrace --help"); // the parser requires one
  }

 private:
  using Arguments = std::function<Command(const CLI::App&)>;
  void add(CLI::App* command, Arguments arguments) { all_.emplace_back(command, std::move(arguments)); }

  ReportOptions report_;
  DiffOptions diff_;
  ExplainOptions explain_;
  PostmortemOptions postmortem_;
  RunOptions run_;
  DoctorArguments doctor_;
  std::vector<std::pair<CLI::App*, Arguments>> all_;
};

void check_command(const std::string& name) {
  const auto is_it = [&name](const char* known) { return name == known; };
  const char* const these = "this version has report, diff, explain, postmortem, run and doctor";
  if (std::any_of(std::begin(kNotYet), std::end(kNotYet), is_it))
    throw report::UsageError(name + ": not supported yet; " + these);
  if (!name.starts_with('-') && std::none_of(std::begin(kCommands), std::end(kCommands), is_it))
    throw report::UsageError(name + ": no such command; " + these);
}

[[noreturn]] void refuse(const CLI::ParseError& error) {
  std::string line = error.what();
  std::replace(line.begin(), line.end(), '\n', ' ');
  throw report::UsageError(line + "; see memtrace --help");
}

} // namespace

Command parse(int argc, const char* const* argv) {
  if (argc > 1) check_command(argv[1]);
  // The words after "--" belong to the traced command, even if they look like options.
  const char* const* end = argv + argc;
  const char* const* dashes =
      std::find_if(argv, end, [](const char* argument) { return argument == std::string("--"); });
  const bool is_run = argc > 1 && argv[1] == std::string("run");

  CLI::App app("Explains what a traced program did with its memory.", "memtrace");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("memtrace ") + MEMTRACE_VERSION);
  const Subcommands subcommands(
      app, dashes == end ? std::vector<std::string>{} : std::vector<std::string>(dashes + 1, end));
  try {
    app.parse(static_cast<int>((is_run ? dashes : end) - argv), argv);
  } catch (const CLI::CallForHelp&) {
    return Say{app.help("", CLI::AppFormatMode::Sub)};
  } catch (const CLI::CallForVersion& version) {
    return Say{std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    refuse(error);
  }
  return subcommands.parsed();
}

} // namespace memtrace::cli
