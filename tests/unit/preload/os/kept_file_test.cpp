// Purpose: the background thread opens a file once; other threads leave no descriptor behind.
#include "preload/os/kept_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <vector>

#include "child.h"
#include "preload/drain/tls_stand_in.h"
#include "preload/os/gate/syscall_gate.h"
#include "preload/os/mappings.h"
#include "preload/os/threads.h"

namespace memtrace::record {
namespace {

using os::For;
using tests::Scratch;

constexpr std::size_t kStack = 128 * 1024;

struct Job {
  void (*run)(Job&); // on a thread without libc
  const char *first, *second;
  long answers[6];
  std::uint32_t descriptors;
};

int run_job(void* argument) {
  os::close_all_of_this_thread();
  auto& job = *static_cast<Job*>(argument);
  job.run(job);
  return 0;
}

// Runs the job as the recorder runs its background thread. Its stack stays: no other thread may use it.
void on_background_thread(Job& job) {
  static auto* const memory = static_cast<char*>(os::map_private(kStack + tls_stand_in_bytes()));
  std::uint32_t tid = 1;
  ASSERT_GT(os::start_thread(run_job, &job, memory, kStack, make_tls_stand_in(memory + kStack), &tid), 0);
  while (__atomic_load_n(&tid, __ATOMIC_ACQUIRE) != 0) os::yield();
}

constexpr long kClosed = -1'000'000;

// Returns the descriptor that is still open afterwards; kClosed: it was closed.
long append(os::KeptFile& file, const char* path) {
  const long fd = file.open_own(path, For::appending);
  if (fd < 0) return fd;
  os::write_once(fd, "x", 1);
  file.end_use(fd);
  return os::write_once(fd, "", 0) == 0 ? fd : kClosed;
}

std::uintmax_t bytes_of(const std::string& path) {
  return std::filesystem::file_size(path);
}

class KeptFile : public testing::Test {
 protected:
  void SetUp() override {
    for (const std::string& path : {first_, second_}) std::ofstream{path};
  }
  Job job_of(void (*run)(Job&)) { return {run, first_.c_str(), second_.c_str(), {}, 0}; }

  Scratch scratch_;
  std::string first_ = scratch_.file("first"), second_ = scratch_.file("second");
};

TEST_F(KeptFile, StaysOpenOnTheBackgroundThread) {
  Job job = job_of([](Job& one) {
    os::KeptFile file;
    for (long& answer : one.answers) answer = append(file, one.first);
    one.descriptors = os::descriptors_open();
  });
  on_background_thread(job);
  for (const long answer : job.answers) EXPECT_EQ(answer, 3) << "not standard error's number";
  EXPECT_EQ(job.descriptors, 0u) << "a program that enters a sandbox would wait for it";
  EXPECT_EQ(bytes_of(first_), std::size(job.answers));
}

TEST_F(KeptFile, OfAnotherPath) {
  Job job = job_of([](Job& one) {
    os::KeptFile file;
    for (int i = 0; i < 6; ++i) one.answers[i] = append(file, i % 3 == 0 ? one.first : one.second);
  });
  on_background_thread(job);
  for (const long answer : job.answers) EXPECT_EQ(answer, 3) << "the one before is closed";
  EXPECT_EQ(bytes_of(first_), 2u);
  EXPECT_EQ(bytes_of(second_), 4u);
}

TEST_F(KeptFile, ThatWasRemovedOrHasASecondName) {
  Job job = job_of([](Job& one) {
    os::KeptFile file;
    one.answers[0] = append(file, one.first);
    link(one.first, one.second);
    one.answers[1] = append(file, one.first);
    unlink(one.second);
    one.answers[2] = append(file, one.first);
    unlink(one.first);
    one.answers[3] = append(file, one.first);
  });
  std::filesystem::remove(second_);
  on_background_thread(job);
  EXPECT_EQ(job.answers[0], 3);
  EXPECT_EQ(job.answers[1], os::kNotOurs);
  EXPECT_EQ(job.answers[2], 3);
  EXPECT_EQ(job.answers[3], -ENOENT);
}

TEST_F(KeptFile, OfAnEarlierBackgroundThread) {
  static os::KeptFile file;
  Job job = job_of([](Job& one) { one.answers[0] = append(file, one.first); });
  on_background_thread(job);
  on_background_thread(job);
  EXPECT_EQ(job.answers[0], 3);
  EXPECT_EQ(bytes_of(first_), 2u) << "its descriptor is of a table that is gone";
}

TEST_F(KeptFile, IsClosedOnOtherThreads) {
  os::KeptFile file;
  EXPECT_EQ(append(file, first_.c_str()), kClosed);
  EXPECT_EQ(bytes_of(first_), 1u);
  const long kernel = file.open_kernel("/proc/self/statm");
  ASSERT_GE(kernel, 0);
  file.end_use(kernel);
  EXPECT_EQ(fcntl(static_cast<int>(kernel), F_GETFD), -1);
}

} // namespace
} // namespace memtrace::record
