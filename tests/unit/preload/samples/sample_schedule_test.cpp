// Purpose: far from a limit samples are seldom; near one they are not, as long as it comes closer.
#include "preload/samples/sample_schedule.h"
#include "preload/os/clocks.h"
#include "preload/os/threads.h"
#include "preload/record/emit.h"
#include "preload/record/live_levels.h"
#include "preload/samples/kernel_samples.h"
#include "preload/stack/loaded_modules.h"
#include "preload/stack/unwind_rule_cache.h"
#include "preload/state/doorbell.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "child.h"
#include "group_files.h"
#include "reading.h"
#include "tests/unit/sizes.h"

namespace memtrace::record {
namespace {

using format::EventType;
using format::RingRecord;
using tests::in_child;
using tests::Scratch;

using tests::kMiB;
constexpr std::uint64_t kFar = 500'000'000;
constexpr std::uint64_t kNear = 25'000'000;

// Pauses are made of what samples cost, and the first ones of a child cost it 5 ms of page faults on a busy
// machine.
void warm_up() {
  for (int i = 0; i < 16; ++i) sample_first(); // to no file
  forget_sampling_times();
  forget_samples();
}

// The child goes on where it is in a pod whose limit is 800 MiB; nothing of the machine is near.
void in_pod(const std::function<void(const Scratch&)>& body) {
  if (!tests::can_enter_pod()) GTEST_SKIP() << "the files of a cgroup cannot be mounted here";
  const Scratch scratch;
  in_child([&] {
    ASSERT_TRUE(tests::enter_pod(scratch));
    tests::put_group_file("memory.stat", "anon 1\nfile 0\nshmem 0\n");
    tests::put_group_file("memory.pressure", "some avg10=0.00\nfull avg10=0.00\n");
    tests::put_charge(100 * kMiB, std::to_string(800 * kMiB));
    warm_up();
    tests::open_files(scratch);
    body(scratch);
  });
}

std::vector<RingRecord> own_groups(const Scratch& scratch) {
  std::vector<RingRecord> out;
  for (const RingRecord& record :
       all_of(tests::read_segments(scratch.file("t.memtrace")), EventType::sample_cgroup))
    if ((record.flags & 0xFF) == 0) out.push_back(record);
  return out;
}

// Sleeps as long as it says, and samples: the next pause, from then on.
std::uint64_t next(std::uint64_t pause) {
  os::sleep_ns(pause + 1'000'000);
  return sample_if_due();
}

TEST(SampleTimes, FarFromALimitEachHalfSecond) {
  in_pod([](const Scratch& scratch) {
    const std::uint64_t began = os::monotonic_ns();
    sample_first();
    std::uint64_t pause = 0;
    unsigned early = 0;
    for (int i = 0; i < 100; ++i) {
      pause = sample_if_due();
      const std::uint64_t passed = os::monotonic_ns() - began;
      EXPECT_GE(pause + passed, kFar) << "after " << passed << " ns";
      if (passed < kFar) ++early;
    }
    ASSERT_EQ(early, 100u) << "this thread had no CPU for half a second, so nothing is shown";
    EXPECT_EQ(own_groups(scratch).size(), 1u) << "none that was not due";
    next(pause);
    const auto samples = own_groups(scratch);
    ASSERT_EQ(samples.size(), 2u);
    EXPECT_GE(samples[1].stamp - samples[0].stamp, kFar - kNear) << "but for what the first one took";
    for (const RingRecord& sample : samples) EXPECT_EQ(sample.flags & format::kNearLimit, 0);
    EXPECT_EQ(all_of(tests::read_segments(scratch.file("t.memtrace")), EventType::sample_machine).size(), 1u)
        << "the machine is looked at less often";
  });
}

TEST(SampleTimes, NearALimitOftenAndLessWhereItStandsStill) {
  in_pod([](const Scratch& scratch) {
    tests::put_charge(720 * kMiB, std::to_string(800 * kMiB));
    sample_first();
    std::uint64_t pause = sample_if_due();
    EXPECT_LT(pause, kFar / 4);
    for (std::uint64_t charge = 730; charge < 790; charge += 10) { // closer with each
      tests::put_charge(charge * kMiB, std::to_string(800 * kMiB));
      pause = next(pause);
      EXPECT_LT(pause, kFar / 4);
    }
    const std::size_t dense = own_groups(scratch).size();
    EXPECT_EQ(dense, 7u);
    std::uint64_t waited = 0;
    for (int i = 0; i < 6; ++i) {
      const std::uint64_t after = next(pause);
      EXPECT_GE(after, pause) << "it stands still";
      pause = after;
      waited += pause;
    }
    EXPECT_GE(pause, kFar);
    const auto samples = own_groups(scratch);
    for (std::size_t i = 1; i < samples.size(); ++i)
      EXPECT_NE(samples[i].flags & format::kNearLimit, 0) << "known from the first one on, " << i;
    EXPECT_EQ(samples[0].flags & format::kNearLimit, 0) << "which did not know";
    EXPECT_EQ(all_of(tests::read_segments(scratch.file("t.memtrace")), EventType::sample_limits).size(),
              2 * samples.size())
        << "each with all there is to say, of the pod and its parent";
    tests::put_charge(100 * kMiB, std::to_string(800 * kMiB));
    EXPECT_GE(next(pause), kFar) << "it went away";
  });
}

#ifdef MEMTRACE_OWN_UNWINDER
// By the kernel.
std::uint64_t private_bytes() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("Anonymous:")) return std::stoull(line.substr(10)) * 1024;
  return 0;
}

TEST(SampleTimes, WhatIsOnlyACacheIsGivenBackNearALimit) {
  find_modules_by("");
  in_pod([](const Scratch&) {
    sample_first();
    ASSERT_TRUE(frame_rules_are_open() || open_frame_rules());
    const auto code = reinterpret_cast<std::uint64_t>(dlsym(RTLD_DEFAULT, "qsort"));
    std::uint32_t place = 0;
    for (std::uint64_t i = 0; i < 20'000; ++i) frame_rule(code + i, place);
    const std::uint64_t before = private_bytes();
    const std::uint64_t pause = next(sample_if_due()); // longer than kFar where samples are slow
    EXPECT_GT(private_bytes() + 64 * 1024, before) << "not far from it";
    tests::put_charge(720 * kMiB, std::to_string(800 * kMiB));
    next(pause);
    EXPECT_LT(private_bytes() + 256 * 1024, before);
    place = 0;
    for (std::uint64_t i = 0; i < 1000; ++i) {
      FrameRule told{};
      find_frame_rule(code + i, &told);
      ASSERT_EQ(frame_rule(code + i, place), told);
    }
  });
}
#endif

TEST(SampleTimes, PageCacheIsNotNear) {
  in_pod([](const Scratch&) {
    tests::put_charge(799 * kMiB, std::to_string(800 * kMiB));
    tests::put_group_file("memory.stat", "anon 104857600\nfile 700000000\nshmem 0\nfile_dirty 0\n");
    const std::uint64_t began = os::monotonic_ns(); // a busy machine takes a part of the pause
    sample_first();
    const std::uint64_t pause = sample_if_due();
    EXPECT_GT(pause + os::monotonic_ns() - began, kFar / 2) << "the kernel can take it back";
    tests::put_group_file("memory.stat", "anon 104857600\nfile 700000000\nshmem 690000000\nfile_dirty 0\n");
    sample_first();
    EXPECT_LT(sample_if_due(), kFar / 4) << "but not what is shared";
  });
}

TEST(SampleTimes, AtThePaceItGoesBeforeItIsNear) {
  in_pod([](const Scratch&) {
    sample_first();
    std::uint64_t pause = sample_if_due();
    tests::put_charge(500 * kMiB, std::to_string(800 * kMiB)); // 400 in half a second: 150 more in 190 ms
    pause = next(pause);
    EXPECT_LT(pause, kFar);
    EXPECT_GT(pause, kNear);
    EXPECT_GE(next(pause), kFar) << "it goes no further";
  });
}

TEST(SampleTimes, WhenHalfOfWhatIsLeftIsGone) {
  in_pod([](const Scratch& scratch) {
    sample_first();
    os::sleep_ns(2 * kNear); // the least between two
    level(0, 349 * static_cast<std::int64_t>(kMiB));
    sample_if_due();
    EXPECT_EQ(own_groups(scratch).size(), 1u);
    level(0, 2 * static_cast<std::int64_t>(kMiB));
    sample_if_due();
    EXPECT_EQ(own_groups(scratch).size(), 2u) << "351 of 700 MiB";
  });
}

TEST(SampleTimes, AFailedAllocationWantsAll) {
  in_pod([](const Scratch& scratch) {
    sample_first();
    const std::uint32_t before = bell;
    request_full_sample();
    EXPECT_EQ(bell, before + 1) << "the background thread is woken";
    request_full_sample();
    EXPECT_EQ(bell, before + 1) << "once";
    const std::uint64_t pause = sample_if_due();
    EXPECT_LT(pause, kFar / 4) << "as soon as may be";
    next(pause);
    const std::uint64_t sampled = os::monotonic_ns();
    EXPECT_EQ(own_groups(scratch).size(), 2u);
    EXPECT_EQ(all_of(tests::read_segments(scratch.file("t.memtrace")), EventType::sample_machine).size(), 2u);
    const std::uint64_t left = sample_if_due();
    EXPECT_GT(left + os::monotonic_ns() - sampled, kFar / 2) << "but for the time since";
  });
}

} // namespace
} // namespace memtrace::record
