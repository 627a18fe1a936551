// Purpose: tests that the report of a job does not depend on the number of threads, and leaves out a trace that
// can no longer be read.
#include "analyzer/cli/commands/job_report.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "analyzer/files/processors.h"
#include "analyzer/files/warning.h"
#include "analyzer/job/job_survey.h"
#include "builder.h"
#include "tests/unit/sizes.h"

namespace memtrace::cli {
namespace {

using tests::kMiB;

constexpr std::uint32_t kRanks = 20; // more than stay open
constexpr std::uint32_t kLarge = 13; // the rank that holds more than the others

class OfManyRanks : public testing::Test {
 protected:
  void SetUp() override {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      tests::Builder builder;
      builder.rank(rank, kRanks).parameters(100, 400, 2); // with a model, rank 0 leads
      const std::uint32_t line = builder.python_frame("main", "/home/u/train.py", 10, 0);
      const std::uint32_t more = builder.python_frame("extra", "/home/u/train.py", 20, line);
      builder.begin("load").tensor(kMiB, 100 * kMiB + rank, line);
      if (rank == kLarge) builder.tensor(300 * kMiB, 90 * kMiB, more);
      builder.end("load").exit(0);
      files_.push_back(scratch_.file("r" + std::to_string(100 + rank) + ".memtrace"));
      tests::write_file(files_.back(), builder.bytes());
    }
    files::set_warning_writer([this](const std::string& line) { warnings_ += line + "\n"; });
  }
  void TearDown() override {
    files::limit_jobs(0);
    files::set_warning_writer([](const std::string&) {});
  }

  // `gone`: the place of a process in the report, whose trace disappears after the survey.
  std::string written(Form form, std::size_t jobs, std::optional<std::size_t> gone = std::nullopt) {
    files::limit_jobs(jobs);
    Meter meter(-1);
    std::vector<report::Process> processes = report::survey(files_, {}, meter);
    const std::string path = gone ? processes[*gone].path : "";
    if (gone) processes[*gone].trace.reset();
    if (gone) std::filesystem::rename(path, path + ".kept");
    ReportPlan plan;
    plan.form = form;
    plan.options.next_peak = form == Form::text;
    plan.several = true;
    JobReport job(plan, kPageSize, processes, meter);
    std::string out;
    job.write("", [&](std::string_view piece) { out += piece; });
    if (gone) std::filesystem::rename(path + ".kept", path);
    return out;
  }

  tests::Scratch scratch_;
  std::vector<std::string> files_;
  std::string warnings_;
};

TEST_F(OfManyRanks, DoesNotDependOnTheNumberOfThreads) {
  for (const Form form : {Form::text, Form::json}) {
    const std::string alone = written(form, 1);
    for (const std::size_t jobs : {2, 3, 8}) EXPECT_EQ(written(form, jobs), alone) << jobs << " threads";
  }
}

TEST_F(OfManyRanks, ShowsTheRankThatDiffersInFull) {
  const std::string text = written(Form::text, 4);
  EXPECT_NE(text.find("Rank 13 differs"), std::string::npos) << text;
  EXPECT_NE(text.find("train.py  rank 13 of 20"), std::string::npos) << text;
  EXPECT_NE(text.find("train.py:20"), std::string::npos) << text;
  EXPECT_EQ(text.find("rank 0 of 20"), std::string::npos) << text;
}

TEST_F(OfManyRanks, LeavesOutATraceThatCanNoLongerBeRead) {
  for (const std::size_t jobs : {1, 4}) {
    for (const std::size_t gone : {0, 5}) {
      warnings_.clear();
      const std::string text = written(Form::json, jobs, gone);
      const auto document = report::Json::parse(text);
      EXPECT_EQ(document["processes"].size(), kRanks - 1);
      EXPECT_EQ(document["job"]["world_size"], kRanks);
      EXPECT_NE(warnings_.find(".memtrace: "), std::string::npos);
      EXPECT_EQ(std::count(warnings_.begin(), warnings_.end(), '\n'), 1) << warnings_;
    }
  }
}

} // namespace
} // namespace memtrace::cli
