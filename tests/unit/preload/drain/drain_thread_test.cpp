// Purpose: the background thread comes, works, goes when asked and comes back when due.
#include "preload/drain/drain_thread.h"
#include "preload/blocks/recording.h"
#include "preload/os/gate/syscall_gate.h"
#include "preload/os/threads.h"
#include "preload/os/timestamp.h"
#include "preload/record/thread_entry.h"
#include "preload/ring/ring.h"
#include "preload/ring/ring_file.h"
#include "preload/samples/sample_schedule.h"
#include "preload/state/doorbell.h"
#include "preload/state/upcalls.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "child.h"
#include "reading.h"

namespace memtrace::record {
namespace {

using format::EventType;
using tests::in_child;
using tests::Scratch;

std::vector<std::string> tasks() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    if (entry.path().filename().string() != std::to_string(::getpid())) out.push_back(entry.path().string());
  }
  return out;
}

// The wait ends with the condition. The minute is for a machine with many busy processes.
template <class Condition>
bool becomes(Condition condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) return true;
    ::usleep(10'000); // libc's: the recorder's own makes no call in a sandbox
  }
  return false;
}

void append(std::uint64_t number) {
  format::RingRecord record = tests::birth_of(number, 4096, draw_stamp());
  ASSERT_TRUE(ring_append(*this_thread(), record));
}

bool waits() {
  return !rings_are_empty();
}

TEST(Drain, StartsDrainsRetires) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    EXPECT_TRUE(tasks().empty());
    start_drain();
    start_drain(); // one is enough
    EXPECT_EQ(tasks().size(), 1u);
    append(1);
    EXPECT_TRUE(becomes([] { return rings_are_empty(); }));
    for (std::uint64_t i = 2; i < 1500; ++i) append(i);
    EXPECT_TRUE(becomes([] { return rings_are_empty(); }));
    EXPECT_TRUE(retire_drain());
    EXPECT_TRUE(tasks().empty()) << "the kernel may not count it any more";
    EXPECT_TRUE(retire_drain()) << "there is none";
    EXPECT_EQ(all_of(tests::read_segments(scratch.file("t.memtrace")), EventType::birth).size(), 1499u);
    append(1500);
    EXPECT_TRUE(waits()) << "no thread drains now";
  });
}

TEST(Drain, ComesBackWhenDue) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    restart_drain_after(0);
    keep_drain_running();
    EXPECT_TRUE(tasks().empty()) << "none was ever wanted";
    start_drain();
    ASSERT_TRUE(retire_drain());
    restart_drain_after(3'600'000'000'000);
    keep_drain_running();
    EXPECT_TRUE(tasks().empty()) << "an hour too early";
    restart_drain_after(10'000'000);
    os::sleep_ns(11'000'000);
    EXPECT_TRUE(tasks().empty()) << "it waits for an event";
    keep_drain_running();
    EXPECT_EQ(tasks().size(), 1u);
    append(1);
    EXPECT_TRUE(becomes([] { return rings_are_empty(); }));
    EXPECT_TRUE(retire_drain());
  });
}

TEST(Drain, ManyTimes) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    for (std::uint64_t i = 0; i < 50; ++i) {
      start_drain();
      append(i);
      ASSERT_TRUE(retire_drain()) << i;
      ASSERT_TRUE(tasks().empty()) << i;
    }
    drain_rings(true);
    EXPECT_EQ(all_of(tests::read_segments(scratch.file("t.memtrace")), EventType::birth).size(), 50u);
  });
}

TEST(Drain, StaysAwayWhileItIsHeld) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    start_drain();
    EXPECT_TRUE(hold_drain());
    EXPECT_TRUE(hold_drain()) << "two threads may change something at once";
    EXPECT_TRUE(tasks().empty());
    start_drain();
    EXPECT_TRUE(tasks().empty());
    release_drain(0);
    keep_drain_running();
    EXPECT_TRUE(tasks().empty()) << "the other one is not over";
    release_drain(0);
    keep_drain_running();
    EXPECT_EQ(tasks().size(), 1u);
    EXPECT_TRUE(retire_drain());
  });
}

// By system calls that no hook sees: each leaves a thread that may do more than the first one.
TEST(Drain, EndsWhenTheFirstThreadMayDoLess) {
  const Scratch scratch;
  for (const bool filter : {false, true}) {
    in_child([&] {
      tests::become_hot(scratch);
      start_drain();
      EXPECT_EQ(tasks().size(), 1u);
      append(1);
      EXPECT_TRUE(becomes([] { return rings_are_empty(); })) << "it has looked at least once";
      ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
      sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
      const sock_fprog program = {1, &all};
      if (filter) {
        ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
      }
      EXPECT_TRUE(becomes([] { return tasks().empty(); }));
      EXPECT_EQ(os::calls_are_stopped(), filter);
      EXPECT_EQ(ring_header()->shut_since != 0, filter);
    });
    std::filesystem::remove(scratch.file("t.memtrace"));
    std::filesystem::remove(scratch.file("t.rings"));
  }
}

TEST(Drain, BlocksEverySignal) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    start_drain();
    ASSERT_EQ(tasks().size(), 1u);
    std::ifstream status(tasks().front() + "/status");
    std::uint64_t blocked = 0;
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("SigBlk:")) blocked = std::stoull(line.substr(7), nullptr, 16);
    EXPECT_EQ(blocked | std::uint64_t{1} << 8 | std::uint64_t{1} << 18, ~std::uint64_t{0})
        << "KILL and STOP cannot be";
    EXPECT_TRUE(retire_drain());
  });
}

TEST(Drain, SamplesByItselfAndWhenAsked) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    const auto samples = [&] {
      return all_of(tests::read_segments(scratch.file("t.memtrace")), EventType::sample_process).size();
    };
    start_drain();
    EXPECT_TRUE(becomes([&] {
      std::error_code ignored;
      return std::filesystem::file_size(scratch.file("t.memtrace"), ignored) != 0;
    }));
    retire_drain();
    const std::size_t first = samples();
    EXPECT_GE(first, 1u);
    start_drain();
    for (std::size_t i = 1; i <= 3; ++i) { // asked sooner than its cost allows, it waits
      request_sample(os::monotonic_ns());
      EXPECT_TRUE(becomes([&] { return samples() >= first + i; }));
    }
    retire_drain();
    const auto segments = tests::read_segments(scratch.file("t.memtrace"));
    EXPECT_EQ(by_thread(segments, format::Source::ring).size(), 1u) << "thread 0 only, without a gap";
  });
}

TEST(Drain, ForgottenAfterFork) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    start_drain();
    ASSERT_TRUE(retire_drain());
    restart_drain_after(0);
    forget_drain();
    keep_drain_running();
    EXPECT_TRUE(tasks().empty());
  });
}

} // namespace
} // namespace memtrace::record
