// Purpose: tests which traces a name means: a file, a directory, a job, or nothing.
#include "analyzer/job/trace_lookup.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/job/usage_error.h"
#include "builder.h"

namespace memtrace::report {
namespace {

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
  EXPECT_EQ(find_traces("b"), find_traces("memtrace-out/b")) << "as messages name a job";
  EXPECT_EQ(find_traces("memtrace-out/b/2.rings"), (std::vector<std::string>{"memtrace-out/b/2.rings"}));
  std::filesystem::create_directory(scratch.file("started-here"));
  std::filesystem::rename(scratch.file("memtrace-out"), scratch.file("started-here/memtrace-out"));
  EXPECT_EQ(find_traces("started-here").size(), 2u);
  EXPECT_THROW(find_traces("empty"), UsageError);
  EXPECT_THROW(find_traces("nowhere"), UsageError);
  std::filesystem::current_path(scratch.file("empty"));
  EXPECT_THROW(find_traces(""), UsageError);
  std::filesystem::current_path(before);
}

} // namespace
} // namespace memtrace::report
