// Purpose: what arguments mean, and what is refused in one line.
#include <gtest/gtest.h>

#include <filesystem>

#include "analyzer/cli/command_line.h"
#include "analyzer/job/trace_lookup.h"
#include "analyzer/job/usage_error.h"
#include "builder.h"

namespace memtrace::cli {
namespace {

using report::find_traces;
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

TEST(Arguments, OfRunAreVariablesAndTheCommandIsItsOwn) {
  const auto run = std::get<RunArguments>(parsed(
      {"run", "-o", "d", "--exact-min", "1K", "--skip", "", "--quiet", "--", "python", "-o", "--", "--help"}));
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"MEMTRACE_OUT", "d"}, {"MEMTRACE_EXACT_MIN", "1K"}, {"MEMTRACE_SKIP", ""}, {"MEMTRACE_QUIET", "1"}};
  EXPECT_EQ(run.variables, expected);
  EXPECT_EQ(run.command, (std::vector<std::string>{"python", "-o", "--", "--help"}));
}

TEST(Arguments, ThatMakeNoSenseAreRefusedInOneLine) {
  for (const std::vector<const char*>& arguments :
       std::vector<std::vector<const char*>>{{},
                                             {"nonsense"},
                                             {"report", "--steps", "5:2"},
                                             {"report", "--steps", "x"},
                                             {"report", "--format", "xml"},
                                             {"report", "--format", "html"},
                                             {"report", "a", "b"},
                                             {"report", "--top", "-1"},
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
                                             {"top"},
                                             {"postmortem", "a", "b"},
                                             {"postmortem", "--rank", "x"},
                                             {"postmortem", "--format", "xml"},
                                             {"doctor", "--format", "html"}}) {
    const std::string line = refused(arguments);
    EXPECT_NE(line, "not refused") << (arguments.empty() ? "" : arguments.back());
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
  EXPECT_NE(refused({"top"}).find("not supported yet"), std::string::npos);
}

TEST(Arguments, HelpAndVersionAreSaid) {
  EXPECT_EQ(std::get<Say>(parsed({"--version"})).text.rfind("memtrace ", 0), 0u);
  EXPECT_NE(std::get<Say>(parsed({"report", "--help"})).text.find("--all-steps"), std::string::npos);
}

TEST(Find, TakesAFileADirectoryOrTheNewestJob) {
  const tests::Scratch scratch;
  const auto touch = [&](const std::string& name, int age) {
    tests::write_file(scratch.file(name), "x");
    std::filesystem::last_write_time(scratch.file(name),
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(age));
  };
  for (const char* job : {"memtrace-out", "memtrace-out/a", "memtrace-out/b", "empty"}) {
    std::filesystem::create_directory(scratch.file(job));
  }
  touch("memtrace-out/a/1.memtrace", 1);
  touch("memtrace-out/a/0.memtrace", 5);
  touch("memtrace-out/b/2.memtrace", 3);
  touch("memtrace-out/b/2.rings", 0);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(scratch.path());
  EXPECT_EQ(find_traces(""),
            (std::vector<std::string>{"memtrace-out/a/0.memtrace", "memtrace-out/a/1.memtrace"}));
  EXPECT_EQ(find_traces("memtrace-out/b"), (std::vector<std::string>{"memtrace-out/b/2.memtrace"}));
  EXPECT_EQ(find_traces("memtrace-out/b/2.rings"), (std::vector<std::string>{"memtrace-out/b/2.rings"}));
  EXPECT_THROW(find_traces("empty"), UsageError);
  EXPECT_THROW(find_traces("nowhere"), UsageError);
  std::filesystem::current_path(scratch.file("empty"));
  EXPECT_THROW(find_traces(""), UsageError);
  std::filesystem::current_path(before);
}

} // namespace
} // namespace memtrace::cli
