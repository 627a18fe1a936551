// Purpose: a process of its own for a test, because the recorder is made of globals that nothing tears down.
#include "child.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "preload/record/emit.h"
#include "preload/record/interner.h"
#include "preload/ring/ring.h"
#include "preload/ring/ring_file.h"
#include "preload/state/loss_counters.h"
#include "preload/state/recorder_state.h"
#include "preload/state/settings.h"
#include "preload/trace/trace_windows.h"

namespace memtrace::tests {

Scratch::Scratch() {
  std::string pattern = (std::filesystem::temp_directory_path() / "memtrace-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no scratch directory");
  path_ = pattern;
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void in_child(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    ::alarm(60);
    body();
    std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFEXITED(status)) << "the child was ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the child's checks failed, see above";
}

void open_files(const Scratch& scratch, std::uint64_t max_bytes) {
  record::Path trace, rings;
  trace.add(scratch.file("t.memtrace").c_str());
  rings.add(scratch.file("t.rings").c_str());
  ASSERT_TRUE(record::create_trace_file(trace, kTraceId, max_bytes));
  ASSERT_TRUE(record::start_rings(rings, kTraceId));
  record::keep_losses_in(record::ring_header());
  record::start_windows(false, 0, 0, &record::copy_text, &record::has_ring);
}

void become_cold() {
  record::settings.min_peak = ~std::uint64_t{0} >> 1;
  record::settings.stacks = record::Stacks::none;
  record::enter(record::State::buffering);
}

void become_hot(const Scratch& scratch, std::uint64_t max_bytes) {
  open_files(scratch, max_bytes);
  record::write_definitions([](record::PutRecord, void*) {});
  record::enter(record::State::recording);
}

std::uint64_t lost_for(format::Loss reason) {
  return record::ring_header()->lost[static_cast<std::size_t>(reason)];
}

std::uint64_t lost_in_all() {
  std::uint64_t all = 0;
  for (const std::uint64_t& count : record::ring_header()->lost) all += count;
  return all;
}

format::RingRecord birth_of(std::uint64_t address, std::uint64_t given, format::Stamp stamp) {
  format::RingRecord record{};
  record.put(format::BirthEvent{address, given, given, {}, {}, {}});
  record.kind = static_cast<std::uint8_t>(format::Kind::heap);
  record.stamp = stamp;
  return record;
}

} // namespace memtrace::tests
