// Purpose: once the program is in a sandbox the recorder makes no system call, and its clocks go on.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "child.h"
#include "preload/kernel/thread_privileges.h"
#include "preload/os/clocks.h"
#include "preload/os/files.h"
#include "preload/os/gate/syscall_gate.h"
#include "preload/os/mappings.h"
#include "preload/os/sandbox.h"
#include "preload/os/threads.h"

namespace memtrace::record {
namespace {

using tests::in_child;

TEST(Gate, EachCallFailsAndNoneIsMade) {
  in_child([] {
    os::begin_clock();
    os::sleep_ns(20'000'000);
    const int own = os::process_id();
    os::stop_calls(os::Counter::readable);
    EXPECT_TRUE(os::calls_are_stopped());
    EXPECT_EQ(os::open_kernel("/proc/self/status"), -EPERM);
    EXPECT_EQ(os::create("/tmp/no such file of memtrace's"), -EPERM);
    EXPECT_EQ(os::map_private(4096), nullptr);
    EXPECT_FALSE(os::is_readable(&own));
    EXPECT_TRUE(os::in_signal_handler());
    EXPECT_TRUE(os::thread_exists(1));
    EXPECT_LT(os::thread_id(), 0);
    EXPECT_EQ(os::process_id(), own);
    std::uint32_t tid = 0;
    char stack[256];
    EXPECT_EQ(os::start_thread(nullptr, nullptr, stack, sizeof stack, nullptr, &tid), -EPERM);
    os::allow_calls();
    EXPECT_FALSE(os::calls_are_stopped());
    EXPECT_GE(os::close(os::open_kernel("/proc/self/status")), 0);
  });
}

std::uint64_t kernels_clock() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

TEST(Gate, ClocksGoOn) {
  in_child([] {
    os::begin_clock();
    ::usleep(50'000);
    const std::uint64_t unix_before = os::unix_ns();
    os::stop_calls(os::Counter::readable);
    const std::uint64_t before = os::monotonic_ns();
    ::usleep(200'000);
    const std::uint64_t low = kernels_clock(), now = os::monotonic_ns(), high = kernels_clock();
    EXPECT_GT(now, before + 190'000'000);
    EXPECT_GT(now, low - 2'000'000);
    EXPECT_LT(now, high + 2'000'000);
    EXPECT_GT(os::unix_ns(), unix_before + 190'000'000);
  });
}

// In strict mode the kernel takes the counter away: a time that only grows is enough for an order.
TEST(Gate, AClockThatCannotBeReadStillGrows) {
  in_child([] {
    os::begin_clock();
    os::stop_calls(os::Counter::refused);
    const std::uint64_t first = os::monotonic_ns(), second = os::monotonic_ns();
    EXPECT_GT(second, first);
    EXPECT_LT(second - first, 1'000'000u);
  });
}

TEST(Gate, AFileThatAnotherThreadHasOpenIsClosedFirst) {
  in_child([] {
    bool open = false, stopping = false;
    long result = -1;
    std::thread other([&] {
      const long fd = os::open_kernel("/proc/self/status");
      __atomic_store_n(&open, true, __ATOMIC_SEQ_CST);
      while (__atomic_load_n(&os::call_stage, __ATOMIC_SEQ_CST) == 0) {
      }
      __atomic_store_n(&stopping, true, __ATOMIC_SEQ_CST);
      EXPECT_EQ(os::open_kernel("/"), -EPERM); // no other one
      result = os::close(fd);
    });
    while (!__atomic_load_n(&open, __ATOMIC_SEQ_CST)) {
    }
    os::stop_calls(os::Counter::readable);
    other.join();
    EXPECT_TRUE(stopping);
    EXPECT_EQ(result, 0);
  });
}

TEST(ThreadPrivileges, ChangeWithNoNewPrivsAndFilters) {
  in_child([] {
    const ThreadPrivileges before = privileges_of(os::process_id());
    ASSERT_TRUE(before.known);
    EXPECT_EQ(before.credentials, privileges_of(os::thread_id()).credentials);
    ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    EXPECT_NE(privileges_of(os::process_id()).credentials, before.credentials);
    EXPECT_EQ(privileges_of(os::process_id()).filters, before.filters);
    sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const sock_fprog program = {1, &all};
    ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
    EXPECT_EQ(privileges_of(os::process_id()).filters, before.filters + 1);
    EXPECT_EQ(filters_at_start(), before.filters + 1);
  });
}

TEST(ThreadPrivileges, AThreadThatIsGoneIsNotKnown) {
  EXPECT_FALSE(privileges_of(-1).known);
}

} // namespace
} // namespace memtrace::record
