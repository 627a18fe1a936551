// Purpose: a survey leaves the traces of a job open, up to a bound.
#include "analyzer/job/job_survey.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "builder.h"

namespace memtrace::report {
namespace {

class Silent : public trace::Progress {
 public:
  void at(const char*, std::uint64_t, std::uint64_t) override {}
  void on(std::string) override {}
  void clear() override {}
};

class Surveyed : public testing::Test {
 protected:
  std::vector<Process> survey_of(int traces) {
    tests::Builder builder;
    builder.begin("load").tensor(1, 1 << 20).end("load").exit(0);
    std::vector<std::string> files;
    for (int i = 0; i < traces; ++i) {
      files.push_back(scratch_.file(std::to_string(i) + ".memtrace"));
      tests::write_file(files.back(), builder.bytes());
    }
    return survey(files, {}, silent_);
  }
  static auto open_in(const std::vector<Process>& processes) {
    return std::ranges::count_if(processes, [](const Process& process) { return process.trace != nullptr; });
  }

 private:
  tests::Scratch scratch_;
  Silent silent_;
};

TEST_F(Surveyed, TracesStayOpen) {
  const std::vector<Process> processes = survey_of(3);
  ASSERT_EQ(open_in(processes), 3);
  for (const Process& process : processes) EXPECT_EQ(process.trace->path(), process.path);
}

TEST_F(Surveyed, ManyTracesAreClosed) {
  const std::vector<Process> processes = survey_of(40);
  EXPECT_EQ(processes.size(), 40u);
  EXPECT_EQ(open_in(processes), 16);
}

} // namespace
} // namespace memtrace::report
