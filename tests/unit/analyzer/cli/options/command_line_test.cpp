// Purpose: what arguments mean, and what is refused in one line.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "analyzer/cli/options/command_line.h"
#include "analyzer/job/usage_error.h"
#include "builder.h"
#include "preload/state/read_settings.h"

namespace memtrace::cli {
namespace {

using report::UsageError;

Command parsed(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "memtrace");
  return parse(static_cast<int>(arguments.size()), arguments.data());
}

std::string refused(const std::vector<const char*>& arguments) {
  try {
    parsed(arguments);
    return "not refused";
  } catch (const UsageError& usage) {
    return usage.what();
  }
}

TEST(Arguments, OfReport) {
  const auto report =
      std::get<ReportArguments>(parsed({"report", "x.memtrace", "--steps", "2:5", "--memory", "cuda:0",
                                        "--format", "json", "-o", "f", "--top", "3"}));
  EXPECT_EQ(report.trace, "x.memtrace");
  EXPECT_EQ(report.options.steps.range->from, 2u);
  EXPECT_EQ(report.options.steps.range->to, 5u);
  EXPECT_EQ(report.options.memory, "cuda:0");
  EXPECT_EQ(report.format, "json");
  EXPECT_EQ(report.output, "f");
  EXPECT_EQ(report.options.top, 3u);
  EXPECT_EQ(std::get<ReportArguments>(parsed({"report"})).trace, "");
}

TEST(Arguments, OfTop) {
  const auto top = std::get<TopArguments>(parsed({"top", "4242", "--once", "--interval", "0.5"}));
  EXPECT_EQ(top.target, "4242");
  EXPECT_TRUE(top.once);
  EXPECT_EQ(top.interval, 0.5);
  EXPECT_EQ(std::get<TopArguments>(parsed({"top"})).target, "");
}

TEST(Arguments, OfTree) {
  const auto tree = std::get<TreeArguments>(
      parsed({"tree", "out", "--finding", "leak-per-step", "--depth", "3", "--min-size", "2%", "--bottom-up"}));
  EXPECT_EQ(tree.finding, "leak-per-step");
  EXPECT_EQ(tree.depth, 3u);
  EXPECT_EQ(tree.least.percent, 2);
  EXPECT_EQ(tree.least.bytes, -1);
  EXPECT_TRUE(tree.bottom_up);
  EXPECT_EQ(std::get<TreeArguments>(parsed({"tree", "--min-size", "1.5M"})).least.bytes, 3 << 19);
  EXPECT_EQ(std::get<TreeArguments>(parsed({"tree", "--min-size", "0"})).least.bytes, 0);
  for (const char* const size : {"", "x", "-1", "5x", "101%", "nan", "1e99", "M"})
    EXPECT_NE(refused({"tree", "--min-size", size}).find("is not a size or a percentage"), std::string::npos)
        << size;
}

TEST(Arguments, OfExport) {
  const auto exported = std::get<ExportArguments>(parsed({"export", "out", "--to", "pprof", "-o", "f"}));
  EXPECT_EQ(exported.to, "pprof");
  EXPECT_EQ(exported.output, "f");
  const auto files =
      std::get<ExportArguments>(parsed({"export", "--to", "parquet", "--python", "a", "--python", "b"}));
  EXPECT_EQ(files.to, "parquet");
  EXPECT_EQ(files.python, "b");
  EXPECT_NE(refused({"export", "--to", "csv"}).find("csv not in"), std::string::npos);
  EXPECT_NE(refused({"export", "out"}).find("--to is required"), std::string::npos);
}

TEST(Arguments, OfPack) {
  const auto pack = std::get<PackArguments>(parsed({"pack", "out", "--redact", "-o", "run.zst"}));
  EXPECT_EQ(pack.trace, "out");
  EXPECT_EQ(pack.output, "run.zst");
  EXPECT_TRUE(pack.redact);
  EXPECT_EQ(refused({"pack", "out"}), "-o is required; see memtrace pack --help");
  EXPECT_EQ(std::get<RunArguments>(parsed({"run", "--pack", "f.zst", "--", "true"})).pack, "f.zst");
  EXPECT_TRUE(
      std::get<RunArguments>(parsed({"run", "--pack", "f.zst", "--only-packed", "--", "true"})).only_packed);
  EXPECT_EQ(refused({"run", "--only-packed", "--", "true"}),
            "--only-packed requires --pack; see memtrace run --help");
}

TEST(Arguments, OfUnpack) {
  const auto unpack = std::get<UnpackArguments>(parsed({"unpack", "run.zst", "-o", "run"}));
  EXPECT_EQ(unpack.packed, "run.zst");
  EXPECT_EQ(unpack.output, "run");
  EXPECT_EQ(refused({"unpack", "run.zst"}), "-o is required; see memtrace unpack --help");
  EXPECT_EQ(refused({"unpack", "-o", "run"}), "PACKED is required; see memtrace unpack --help");
}

TEST(Arguments, OfRunAreVariablesAndTheCommandIsItsOwn) {
  const auto run = std::get<RunArguments>(parsed(
      {"run", "-o", "d", "--exact-min", "1K", "--skip", "", "--quiet", "--", "python", "-o", "--", "--help"}));
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"MEMTRACE_OUT", "d"}, {"MEMTRACE_EXACT_MIN", "1K"}, {"MEMTRACE_SKIP", ""}, {"MEMTRACE_QUIET", "1"}};
  EXPECT_EQ(run.variables, expected);
  EXPECT_EQ(run.command, (std::vector<std::string>{"python", "-o", "--", "--help"}));
}

TEST(Arguments, OfRunSayWhatItWatches) {
  EXPECT_FALSE(std::get<RunArguments>(parsed({"run", "--", "true"})).watch.watches());
  const auto run = std::get<RunArguments>(
      parsed({"run", "--warn-at", "80%", "--on-near-limit", "kill -USR1 1", "--", "true"}));
  EXPECT_EQ(run.watch.threshold().level(1000), 800u);
  EXPECT_EQ(run.watch.on_near_limit, "kill -USR1 1");
  const auto command = std::get<RunArguments>(parsed({"run", "--on-near-limit", "true", "--", "true"}));
  EXPECT_TRUE(command.watch.warns());
  EXPECT_EQ(command.watch.threshold().level(1000), 900u);
  const auto metrics = std::get<RunArguments>(parsed({"run", "--metrics-file", "a.prom", "--", "true"}));
  EXPECT_TRUE(metrics.watch.watches());
  EXPECT_FALSE(metrics.watch.warns());
  EXPECT_FALSE(metrics.watch.metrics_roles);
  const auto roles =
      std::get<RunArguments>(parsed({"run", "--metrics-roles", "--metrics-file", "a.prom", "--", "true"}));
  EXPECT_TRUE(roles.watch.metrics_roles);
}

TEST(Arguments, OfRunWithoutASenseAreRefused) {
  for (const char* const value : {"", "0", "100%", "4GB", "x"})
    EXPECT_EQ(
        refused({"run", "--warn-at", value, "--", "true"}),
        "--warn-at: " + std::string(value) +
            " is neither a share such as 90%, below 100%, nor a size that is left, such as 4G; see memtrace "
            "run --help");
  EXPECT_EQ(
      refused({"run", "--metrics-file", "a.txt", "--", "true"}),
      "--metrics-file: a.txt does not end in .prom, so the textfile collector does not read it; see memtrace "
      "run --help");
  EXPECT_EQ(refused({"run", "--metrics-roles", "--", "true"}),
            "--metrics-roles requires --metrics-file; see memtrace run --help");
}

TEST(Arguments, OfEnvAreTheVariablesOfRun) {
  const auto env =
      std::get<EnvArguments>(parsed({"env", "-o", "d", "--only", "", "--quiet", "--format", "json"}));
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"MEMTRACE_OUT", "d"}, {"MEMTRACE_ONLY", ""}, {"MEMTRACE_QUIET", "1"}};
  EXPECT_EQ(env.variables, expected);
  EXPECT_EQ(env.format, "json");
  EXPECT_TRUE(env.unset.empty());
  const auto undo = std::get<EnvArguments>(parsed({"env", "--unset"}));
  EXPECT_TRUE(undo.variables.empty());
  EXPECT_EQ(undo.format, "sh");
  EXPECT_EQ(std::count(undo.unset.begin(), undo.unset.end(), "MEMTRACE_MIN_PEAK"), 1);
  EXPECT_EQ(std::count(undo.unset.begin(), undo.unset.end(), "MEMTRACE_QUIET"), 1);
}

TEST(Arguments, OfJupyterAreThePlaceOfAKernelAndTheVariablesOfRun) {
  const auto kernel = std::get<JupyterArguments>(parsed(
      {"jupyter", "--python", "a", "install", "--sys-prefix", "--name", "traced", "--python", "b", "-o", "d"}));
  EXPECT_EQ(kernel.python, "b"); // the wheel gives its own before the user's
  EXPECT_TRUE(kernel.sys_prefix);
  EXPECT_EQ(kernel.name, "traced");
  EXPECT_EQ(kernel.variables, (std::vector<std::pair<std::string, std::string>>{{"MEMTRACE_OUT", "d"}}));
}

TEST(Arguments, OfMcpAreDirectoriesAndThePython) {
  const auto server = std::get<McpArguments>(parsed({"mcp", "--python", "a", "x", "--python", "b", "y"}));
  EXPECT_EQ(server.python, "b"); // the wheel gives its own before the user's
  EXPECT_EQ(server.directories, (std::vector<std::string>{"x", "y"}));
}

TEST(Arguments, OfFleetAreAQueryAndDirectories) {
  const auto fleet = std::get<FleetArguments>(
      parsed({"fleet", "outliers", "--job", "a", "x", "--engine", "spark", "--job", "b", "s3a://y"}));
  EXPECT_EQ(fleet.query, "outliers");
  EXPECT_EQ(fleet.directories, (std::vector<std::string>{"x", "s3a://y"}));
  EXPECT_EQ(fleet.jobs, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(fleet.engine, "spark");
  EXPECT_TRUE(std::get<FleetArguments>(parsed({"fleet", "--list"})).list);
}

TEST(Arguments, ThatMakeNoSenseAreRefusedInOneLine) {
  for (const std::vector<const char*>& arguments :
       std::vector<std::vector<const char*>>{{},
                                             {"nonsense"},
                                             {"report", "--steps", "5:2"},
                                             {"report", "--steps", "x"},
                                             {"report", "--format", "xml"},
                                             {"report", "--page-size", "1K"},
                                             {"diff", "--first-vs-steady", "--format", "html"},
                                             {"report", "a", "b"},
                                             {"report", "--top", "-1"},
                                             {"jupyter"},
                                             {"jupyter", "start"},
                                             {"jupyter", "install", "--user", "--prefix", "p"},
                                             {"run"},
                                             {"run", "--"},
                                             {"run", "python"},
                                             {"run", "--nonsense", "--", "x"},
                                             {"diff"},
                                             {"diff", "a"},
                                             {"diff", "a", "b", "c"},
                                             {"diff", "a", "b", "--first-vs-steady"},
                                             {"diff", "a", "--steps", "3:3"},
                                             {"diff", "a", "--steps", "1:2", "--first-vs-steady"},
                                             {"diff", "a", "--phases", "step"},
                                             {"explain", "a", "--params", "many"},
                                             {"explain", "--project", "-1"},
                                             {"explain", "--project", "80,00"},
                                             {"top", "--interval", "0"},
                                             {"top", "--interval", "nan"},
                                             {"top", "--interval", "3601"},
                                             {"top", "--once", "a", "b"},
                                             {"postmortem", "a", "b"},
                                             {"postmortem", "--rank", "x"},
                                             {"postmortem", "--format", "xml"},
                                             {"env", "--unset", "--quiet"},
                                             {"env", "--", "python"},
                                             {"env", "--format", "text"},
                                             {"doctor", "--format", "html"}}) {
    const std::string line = refused(arguments);
    EXPECT_NE(line, "not refused") << (arguments.empty() ? "" : arguments.back());
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
  EXPECT_EQ(refused({"bottom"}),
            "bottom: no such command; this version has report, diff, explain, postmortem, tree, top, check, "
            "export, fleet, pack, unpack, run, env, arm, jupyter, mcp, doctor");
}

// One line for each kind of value: it names the option, the value, and the values that are taken.
TEST(Arguments, OfAWrongValueAreNamedWithWhatIsExpected) {
  EXPECT_EQ(refused({"run", "--sampel", "1M", "--", "true"}),
            "no such option: --sampel; see memtrace run --help");
  EXPECT_EQ(refused({"run", "python", "-c", "pass"}),
            "put -- before the program: memtrace run -- python -c pass; see memtrace run --help");
  EXPECT_EQ(refused({"report", "a", "b"}), "these words were not expected: b; see memtrace report --help");
  EXPECT_EQ(refused({}),
            "no command is given; this version has report, diff, explain, postmortem, tree, top, check, "
            "export, fleet, pack, unpack, "
            "run, env, arm, jupyter, mcp, doctor; see "
            "memtrace --help");
  EXPECT_EQ(refused({"report", "--format", "xml"}),
            "--format: xml not in {text,json,html}; see memtrace report --help");
  EXPECT_EQ(refused({"doctor", "--format", "html"}),
            "--format: only report and diff write html; use text or json; see memtrace doctor --help");
  EXPECT_EQ(refused({"report", "--memory", "disk"}),
            "--memory: disk is not host or cuda:N; see memtrace report --help");
  EXPECT_EQ(refused({"report", "--steps", "x:2"}),
            "--steps: x:2 is not A:B, two step numbers, as in 0:9; see memtrace report --help");
  EXPECT_EQ(refused({"report", "--steps", "5:2"}),
            "--steps: 5:2: the first step is behind the last; see memtrace report --help");
  EXPECT_EQ(refused({"explain", "--params", "many"}),
            "--params: many is not a number of parameters, as in 7e9; see memtrace explain --help");
  EXPECT_EQ(refused({"run", "--sample", "1kb", "--", "x"}),
            "--sample: 1kb is not a size: expected bytes, with K, M or G, as in 512K; see memtrace run --help");
  EXPECT_EQ(refused({"run", "--stacks", "all", "--", "x"}),
            "--stacks: all not in {none,python,native,both}; see memtrace run --help");
  EXPECT_EQ(refused({"run", "--phases", "on", "--", "x"}),
            "--phases: on not in {auto,marks,off}; see memtrace run --help");
  EXPECT_EQ(refused({"run", "--cupti", "yes", "--", "x"}),
            "--cupti: yes not in {off,auto,on}; see memtrace run --help");
  EXPECT_EQ(
      refused({"run"}),
      "run: expected a command behind --, as in: memtrace run -- python train.py; see memtrace run --help");
  EXPECT_EQ(refused({"diff"}),
            "diff: expected two runs, A B, or one with --rank N --rank M, --first-vs-steady, --steps A:B or "
            "--phases P:Q; see memtrace "
            "diff --help");
}

TEST(Arguments, OfDiffNameTwoRanks) {
  const auto diff = std::get<DiffArguments>(parsed({"diff", "--rank", "3", "--rank", "7", "DIR"}));
  EXPECT_EQ(diff.ranks, (std::vector<std::uint32_t>{3, 7}));
  EXPECT_EQ(diff.traces, std::vector<std::string>{"DIR"});
  const std::string two =
      "diff: --rank names two ranks of one job, as in: --rank 3 --rank 7; see memtrace diff --help";
  EXPECT_EQ(refused({"diff", "--rank", "3", "DIR"}), two);
  EXPECT_EQ(refused({"diff", "--rank", "3", "--rank", "3"}), two);
  EXPECT_EQ(refused({"diff", "--rank", "3", "--rank", "x"}).rfind("--rank: x", 0), 0u);
}

TEST(Arguments, ThatAreNumbersAreNamedToo) {
  EXPECT_EQ(refused({"postmortem", "--rank", "x"}),
            "--rank: x is not a number; see memtrace postmortem --help");
  EXPECT_EQ(refused({"postmortem", "--attempt", "-1"}),
            "--attempt: -1 is not a number; see memtrace postmortem --help");
  EXPECT_EQ(refused({"report", "--top", "-1"}),
            "--top: Value -1 not in range 0 to 1048576; see memtrace report --help");
}

TEST(Arguments, OfEachSizeAreChecked) {
  for (const char* option : {"--exact-min", "--sample", "--max-trace", "--max-node", "--min-peak"})
    EXPECT_EQ(
        refused({"run", option, "1.5G", "--", "x"}).rfind(std::string(option) + ": 1.5G is not a size", 0), 0u)
        << option;
}

TEST(Arguments, ThatNameStepsCountsAndPhases) {
  const auto diff = std::get<DiffArguments>(
      parsed({"diff", "t", "--steps", "9:3", "--phases", "forward:step", "--memory", "cuda:12"}));
  EXPECT_EQ(diff.steps->from, 9u);
  EXPECT_EQ(diff.steps->to, 3u);
  EXPECT_EQ(diff.phases, (std::vector<std::string>{"forward", "step"}));
  EXPECT_EQ(diff.memory, "cuda:12");
  const auto explain =
      std::get<ExplainArguments>(parsed({"explain", "--params", "6921720704", "--project", "1.5e9"}));
  EXPECT_EQ(explain.parameters, 6921720704u);
  EXPECT_EQ(explain.project, 1500000000u);
  EXPECT_EQ(std::get<ExplainArguments>(parsed({"explain", "--project", "80,000,000,000"})).project,
            80'000'000'000u)
      << "as the text prints it";
  EXPECT_FALSE(std::get<ExplainArguments>(parsed({"explain"})).parameters);
  EXPECT_EQ(std::get<PostmortemArguments>(parsed({"postmortem", "--rank", "3"})).rank, 3u);
}

// True if the recorder prints no line about the value of this variable.
bool recorder_reads(const char* variable, const char* value) {
  const tests::Scratch scratch;
  const std::string path = scratch.file("said");
  const pid_t child = ::fork();
  if (child == 0) {
    const int file = ::open(path.c_str(), O_CREAT | O_WRONLY, 0600);
    ::dup2(file, STDERR_FILENO);
    ::setenv(variable, value, 1);
    record::read_settings("python3");
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::ifstream in(path);
  const std::string said{std::istreambuf_iterator<char>(in), {}};
  return said.find("cannot be read") == std::string::npos;
}

TEST(Arguments, OfRunAreThoseThatTheRecorderReads) {
  const std::pair<const char*, const char*> options[] = {
      {"--exact-min", "MEMTRACE_EXACT_MIN"}, {"--sample", "MEMTRACE_SAMPLE"},
      {"--max-trace", "MEMTRACE_MAX_TRACE"}, {"--max-node", "MEMTRACE_MAX_NODE"},
      {"--min-peak", "MEMTRACE_MIN_PEAK"},   {"--stacks", "MEMTRACE_STACKS"},
      {"--phases", "MEMTRACE_PHASES"},       {"--cupti", "MEMTRACE_CUPTI"},
      {"--ranks", "MEMTRACE_RANKS"}};
  std::size_t read = 0, all = 0;
  for (const auto& [option, variable] : options) {
    for (const char* value :
         {"",     "0",    "1",     "4096",         "512K", "512k",         "2M",     "32m",    "4G",
          "4g",   "1T",   "1KB",   "1kb",          "1KiB", "1.5G",         "-1",     "+1",     "1 K",
          " 1",   "0x10", "1e6",   "17179869183G", "K",    "none",         "python", "native", "both",
          "Both", "auto", "marks", "off",          "on",   "17179869184G", "AUTO",   "ON",     "all",
          "yes",  "lots", "1,0",   "1B",           "1b",   "dp=2",         "dp=0",   "dp=2,",  "a=2,b=4",
          "=2",   "dp",   "2=dp",  "a=2,a=2",      "dp=x", "python,native"}) {
      const bool command_reads = refused({"run", option, value, "--", "x"}) == "not refused";
      EXPECT_EQ(command_reads, recorder_reads(variable, value)) << option << " '" << value << "'";
      read += command_reads ? 1 : 0;
      ++all;
    }
  }
  EXPECT_EQ(read, 5 * 11 + 5 + 4 + 4 + 3) << "of " << all;
}

TEST(Arguments, HelpAndVersionAreSaid) {
  EXPECT_EQ(std::get<Say>(parsed({"--version"})).text.rfind("memtrace ", 0), 0u);
  EXPECT_NE(std::get<Say>(parsed({"report", "--help"})).text.find("--all-steps"), std::string::npos);
}

} // namespace
} // namespace memtrace::cli
