// Purpose: from buffering to recording and to the end, through the interface that the hooks use.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <thread>
#include <vector>

#include "child.h"
#include "preload/blocks/recording.h"
#include "preload/blocks/small_blocks.h"
#include "preload/bounded/fork_locks.h"
#include "preload/format/process_events.h"
#include "preload/job/job_directory.h"
#include "preload/os/clocks.h"
#include "preload/process/begin.h"
#include "preload/process/end.h"
#include "preload/process/exec.h"
#include "preload/process/fork.h"
#include "preload/record/interner.h"
#include "preload/record/thread_entry.h"
#include "preload/state/recorder_state.h"
#include "preload/state/thread.h"
#include "preload/trace/trace_file.h"
#include "reading.h"

namespace memtrace::record {
namespace {

using format::EventType;
using format::RingRecord;
using tests::in_child;
using tests::Scratch;

// As the constructor does, for a process of which all is asked.
void start(const Scratch& scratch, const char* min_peak) {
  for (const char* name :
       {"MEMTRACE", "MEMTRACE_JOB", "MEMTRACE_RUN", "MEMTRACE_SPOOL", "MEMTRACE_ONLY", "RANK", "SLURM_PROCID"})
    ::unsetenv(name);
  ::setenv("MEMTRACE_OUT", scratch.file("out").c_str(), 1);
  ::setenv("MEMTRACE_MIN_PEAK", min_peak, 1);
  ::setenv("MEMTRACE_STACKS", "none", 1);
  ::setenv("MEMTRACE_QUIET", "1", 1);
  ::setenv("MEMTRACE_SKIP", "", 1);
  start_life();
}

std::vector<std::string> files_of(const Scratch& scratch, const std::string& suffix) {
  std::vector<std::string> out;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(scratch.file("out"), none))
    if (entry.path().extension() == suffix) out.push_back(entry.path().string());
  return out;
}

void born(std::uint64_t address, std::uint64_t given) {
  const Recording here;
  here.born({address, given, given, format::Kind::heap});
}

// Runs `body` in a forked child.
void in_forked_child(const std::function<void()>& body) {
  before_fork();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    after_fork_in_child();
    body();
    std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  after_fork_in_parent();
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Life, BelowThePeakNothingIsLeft) {
  const Scratch scratch;
  in_child([&] {
    start(scratch, "1M");
    for (std::uint64_t i = 1; i <= 100; ++i) born(i << 20, 8192);
    EXPECT_EQ(state(), State::buffering);
    in_forked_child(
        [] { EXPECT_EQ(tick_bytes(*this_thread()), kTickBytes) << "it costs what its parent does"; });
    end_life(0);
    EXPECT_EQ(state(), State::disabled);
    EXPECT_FALSE(std::filesystem::exists(scratch.file("out")));
  });
}

TEST(Life, AtThePeakEverythingIsThere) {
  const Scratch scratch;
  in_child([&] {
    start(scratch, "1M");
    for (std::uint64_t i = 1; i <= 127; ++i) born(i << 20, 8192);
    EXPECT_EQ(state(), State::buffering);
    born(128 << 20, 8192);
    EXPECT_EQ(state(), State::recording) << "the byte that reaches the peak";
    for (std::uint64_t i = 129; i <= 200; ++i) born(i << 20, 8192);
    ASSERT_EQ(files_of(scratch, ".memtrace").size(), 1u);
    EXPECT_EQ(files_of(scratch, ".rings").size(), 1u);
    end_life(3);
    end_life(4); // does nothing
    EXPECT_EQ(files_of(scratch, ".rings").size(), 0u) << "an orderly end takes the rings away";
    const auto segments = tests::read_segments(files_of(scratch, ".memtrace").front());
    EXPECT_EQ(all_of(segments, EventType::birth).size(), 200u);
    const auto ends = all_of(segments, EventType::end);
    ASSERT_EQ(ends.size(), 1u);
    EXPECT_EQ(ends[0].kind, static_cast<std::uint8_t>(format::EndHow::exit));
    EXPECT_EQ(ends[0].as<format::EndEvent>().code, 3u);
    const auto process = all_of(segments, EventType::process);
    ASSERT_EQ(process.size(), 1u);
    EXPECT_EQ(process[0].as<format::ProcessEvent>().pid, static_cast<std::uint32_t>(::getpid()));
    EXPECT_EQ(process[0].as<format::ProcessEvent>().parent_pid, static_cast<std::uint32_t>(::getppid()));
    EXPECT_EQ(process[0].as<format::ProcessEvent>().exact_min, 4096u);
  });
}

TEST(Life, TheNextBestPlace) {
  const Scratch scratch;
  in_child([&] {
    start(scratch, "1M");
    place.directory.clear();
    place.directory.add("/proc/none");
    place.temporary.clear();
    place.temporary.add(scratch.path().c_str());
    born(1 << 20, 2 << 20);
    EXPECT_EQ(state(), State::recording);
    const std::string next = scratch.file("memtrace-" + std::to_string(::geteuid()) + "/") + place.job.text();
    EXPECT_EQ(place.directory.text(), next);
    EXPECT_TRUE(std::string(trace_file.path.text()).starts_with(next + "/"));
  });
}

TEST(Life, WhereNothingCanBeWritten) {
  const Scratch scratch;
  in_child([&] {
    start(scratch, "1M");
    const rlimit none{0, 0};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
    born(1 << 20, 2 << 20);
    EXPECT_EQ(state(), State::disabled);
    born(2 << 20, 2 << 20); // passes through
    EXPECT_EQ(::chdir("/"), 0);
    EXPECT_FALSE(std::filesystem::exists(scratch.file("out"))) << "no half-made directory";
  });
}

// The one line of all of this that several threads may be in at once: nothing of theirs is lost without being
// counted.
void begin_among_threads(const Scratch& scratch, std::uint64_t when) {
  start(scratch, "1M");
  constexpr std::uint64_t kThreads = 4, kEach = 3000;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 1; t <= kThreads; ++t)
    threads.emplace_back([=] {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        born((t << 40) + (i << 20), 1 + (when << 20) / (kThreads * kEach));
        small_born(8);
      }
      const Recording here;
      here.tick();
    });
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(state(), State::recording);
  const std::uint64_t lost = tests::lost_in_all();
  end_life(0);
  const auto segments = tests::read_segments(files_of(scratch, ".memtrace").front());
  const std::uint64_t births = all_of(segments, EventType::birth).size();
  EXPECT_EQ(births + lost, kThreads * kEach);
  std::uint64_t small = 0;
  for (const auto& segment : segments)
    for (const RingRecord& record : segment.records) small += tests::flows_of(record).births;
  EXPECT_EQ(small, kThreads * kEach);
}

TEST(Life, BeginsAmongThreads) {
  for (std::uint64_t when = 2; when <= 12 && !HasFailure(); ++when) {
    const Scratch scratch;
    in_child([&] { begin_among_threads(scratch, when); });
  }
}

// Its child would wait a second at each fork of its own.
TEST(Life, AProcessThatIsNotRecordedForksWithoutALock) {
  in_child([&] {
    enter(State::disabled);
    in_forked_child([] { EXPECT_TRUE(hold_definitions()); });
  });
}

// Forks while another thread holds the lock at `index`. The child records at once.
void fork_while_held(const Scratch& scratch, std::size_t index) {
  std::vector<ForkLock> locks;
  each_fork_lock([&](const ForkLock& entry) { locks.push_back(entry); });
  start(scratch, "1M");
  born(1 << 20, 2 << 20);
  ASSERT_EQ(state(), State::recording);
  before_fork(); // holds the definitions itself
  std::promise<void> held, done;
  std::thread holder([&] {
    const bool locked = locks[index].lock->try_lock();
    held.set_value();
    done.get_future().wait();
    if (locked) locks[index].lock->unlock();
  });
  held.get_future().wait();
  ASSERT_TRUE(locks[index].lock->is_held()) << locks[index].name;
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    after_fork_in_child();
    each_fork_lock([](const ForkLock& entry) { EXPECT_FALSE(entry.lock->is_held()) << entry.name; });
    born(8 << 20, 2 << 20);
    EXPECT_EQ(state(), State::recording);
    end_life(0);
    EXPECT_EQ(all_of(tests::read_segments(trace_file.path.text()), EventType::birth).size(), 1u);
    EXPECT_EQ(tests::lost_in_all(), 0u);
    std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  done.set_value();
  holder.join();
  after_fork_in_parent();
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << locks[index].name;
}

TEST(Life, AForkedChildFindsEachLockFree) {
  std::size_t locks = 0;
  each_fork_lock([&](const ForkLock&) { ++locks; });
  ASSERT_GE(locks, 14u) << "of the objects that this test links";
  for (std::size_t index = 0; index < locks; ++index) {
    const Scratch scratch;
    in_child([&] { fork_while_held(scratch, index); });
  }
}

TEST(Life, AForkedChildHasItsOwnTrace) {
  const Scratch scratch;
  in_child([&] {
    start(scratch, "1M");
    born(1 << 20, 2 << 20);
    ASSERT_EQ(state(), State::recording);
    const std::uint64_t parents = trace_file.trace_id;
    in_forked_child([&] {
      EXPECT_EQ(state(), State::buffering);
      EXPECT_EQ(tick_bytes(*this_thread()), 16 * 1024) << "it records soon";
      born(8 << 20, 100);
      EXPECT_EQ(state(), State::buffering) << "too young";
      born(9 << 20, 2 << 20);
      EXPECT_EQ(state(), State::recording) << "a MiB of its own";
      end_life(0);
      const auto files = files_of(scratch, ".memtrace");
      EXPECT_EQ(files.size(), 2u);
      const auto segments = tests::read_segments(trace_file.path.text());
      const auto forks = all_of(segments, EventType::fork);
      EXPECT_EQ(forks.size(), 1u);
      const auto& fork = forks.at(0).as<format::ForkEvent>();
      EXPECT_EQ(fork.parent_trace_id, parents);
      EXPECT_EQ(fork.parent_pid, static_cast<std::uint32_t>(::getppid()));
      EXPECT_EQ(fork.live, 2u << 20) << "inherited";
      EXPECT_EQ(all_of(segments, EventType::birth).size(), 2u);
    });
    end_life(0);
    EXPECT_EQ(all_of(tests::read_segments(trace_file.path.text()), EventType::birth).size(), 1u);
  });
}

// Recording begins in one thread, which meets a lock that is held. Another one begins to allocate. When 512
// threads did so, a kill lost up to 16 KiB of each.
TEST(Life, AThreadOfAForkedChildWaitsForTheRingFile) {
  const Scratch scratch;
  in_child([&] {
    start(scratch, "0");
    in_forked_child([&] {
      ASSERT_TRUE(hold_definitions());
      const std::uint64_t before = os::monotonic_ns();
      std::thread first([] { born(1 << 20, 2 << 20); });
      while (files_of(scratch, ".rings").size() < 2) std::this_thread::yield();
      std::thread([] { small_born(100); }).join();
      EXPECT_GE(os::monotonic_ns() - before, 50'000'000u) << "it did not wait";
      release_definitions();
      first.join();
      EXPECT_EQ(state(), State::recording);
    });
  });
}

TEST(Life, AFailedExecGoesOn) {
  const Scratch scratch;
  in_child([&] {
    start(scratch, "0");
    ASSERT_EQ(state(), State::recording);
    born(1 << 20, 8192);
    ASSERT_TRUE(before_exec("/no/such/program"));
    EXPECT_EQ(files_of(scratch, ".rings").size(), 0u);
    after_failed_exec();
    EXPECT_EQ(state(), State::recording);
    born(2 << 20, 8192);
    end_life(0);
    const auto segments = tests::read_segments(trace_file.path.text());
    EXPECT_EQ(all_of(segments, EventType::birth).size(), 2u);
    const auto ends = all_of(segments, EventType::end);
    ASSERT_EQ(ends.size(), 2u);
    EXPECT_EQ(ends[0].kind, static_cast<std::uint8_t>(format::EndHow::exec));
    EXPECT_EQ(ends[1].kind, static_cast<std::uint8_t>(format::EndHow::exit));
    EXPECT_EQ(files_of(scratch, ".rings").size(), 0u);
  });
}

// Two of them at once shared what was to be done afterwards: recording ended on a disk that was fine.
TEST(Life, ExecsThatFailInSeveralThreadsGoOn) {
  const Scratch scratch;
  in_child([&] {
    start(scratch, "0");
    constexpr std::uint64_t kThreads = 4, kEach = 100;
    std::vector<std::thread> threads;
    for (std::uint64_t t = 1; t <= kThreads; ++t)
      threads.emplace_back([t] {
        for (std::uint64_t i = 0; i < kEach; ++i) {
          if (before_exec("/no/such/program")) after_failed_exec();
          born((t << 40) + (i << 20), 8192);
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(state(), State::recording);
    EXPECT_EQ(files_of(scratch, ".rings").size(), 1u);
    const std::uint64_t lost = tests::lost_in_all();
    end_life(0);
    const auto segments = tests::read_segments(trace_file.path.text());
    EXPECT_EQ(all_of(segments, EventType::birth).size() + lost, kThreads * kEach);
  });
}

} // namespace
} // namespace memtrace::record
