// Purpose: samples and failures as they are read from a trace: firsts, lasts, highest, and what is not said.
#include "analyzer/trace/kernel_samples.h"

#include <gtest/gtest.h>

#include "analyzer/trace/trace.h"
#include "builder.h"
#include "tests/unit/sizes.h"

namespace memtrace::trace {
namespace {

using format::halves;
using tests::Builder;
using tests::EventType;
using tests::Kind;
using tests::Scratch;

using tests::kMiB;

struct ReadSamples {
  Samples samples;
  Definitions definitions;
};

ReadSamples read_samples(Builder& builder) {
  const Scratch scratch;
  tests::write_file(scratch.file("t.memtrace"), builder.bytes());
  const Trace trace(scratch.file("t.memtrace"));
  ReadSamples out;
  trace.each([&](const Event& event) { out.samples.add(event); });
  out.definitions = trace.definitions();
  return out;
}

void group(Builder& b, std::uint16_t level, std::uint32_t path, std::uint64_t charge, std::uint64_t kills = 0,
           std::uint16_t flags = 0) {
  b.put(EventType::sample_cgroup, 0, static_cast<std::uint16_t>(level | flags),
        {path, charge, 900 * kMiB, charge / 2, charge / 4, kills});
  b.put(EventType::sample_charge, 0, level, {kMiB, 2 * kMiB, 0, kNotSaid, charge / 100, 0});
}

TEST(Samples, FirstLastAndHighestOfEachGroup) {
  Builder b;
  const std::uint32_t own = b.text("/sys/fs/cgroup/job/step"), parent = b.text("/sys/fs/cgroup/job");
  b.on(0);
  for (const std::uint64_t charge : {100, 800, 300}) {
    group(b, 0, own, charge * kMiB, charge == 300 ? 1 : 0,
          charge == 800 ? format::kNearLimit | format::kVersionTwo : format::kVersionTwo);
    group(b, 1, parent, (charge + 50) * kMiB);
  }
  const ReadSamples out = read_samples(b);
  ASSERT_EQ(out.samples.groups().size(), 2u);
  const SampledCgroup& g = out.samples.groups()[0];
  EXPECT_EQ(out.definitions.text(g.path), "/sys/fs/cgroup/job/step");
  EXPECT_TRUE(g.version_two);
  EXPECT_EQ(g.first->charge, 100 * kMiB);
  EXPECT_EQ(g.highest->charge, 800 * kMiB);
  EXPECT_TRUE(g.highest->near);
  EXPECT_EQ(g.highest->page_tables, 8 * kMiB) << "the second record completes the highest too";
  EXPECT_EQ(g.first->page_tables, kMiB);
  EXPECT_EQ(g.last->charge, 300 * kMiB);
  EXPECT_EQ(g.last->page_tables, 3 * kMiB);
  EXPECT_EQ(g.last->hugetlb, kNotSaid);
  EXPECT_EQ(g.last->oom_kills - g.first->oom_kills, 1u);
  ASSERT_EQ(g.late.size(), 3u);
  EXPECT_EQ(g.late[1].kernel, 2 * kMiB);
  EXPECT_EQ(out.samples.groups()[1].level, 1u);
  EXPECT_EQ(out.samples.groups()[1].highest->charge, 850 * kMiB);
}

TEST(Samples, AProcessThatIsMovedLeavesItsGroups) {
  Builder b;
  const std::uint32_t before = b.text("/sys/fs/cgroup/a"), after = b.text("/sys/fs/cgroup/b"),
                      root = b.text("/sys/fs/cgroup");
  b.on(0);
  group(b, 0, before, 100 * kMiB);
  group(b, 1, root, 500 * kMiB);
  group(b, 0, after, 200 * kMiB);
  group(b, 1, root, 600 * kMiB);
  const ReadSamples out = read_samples(b);
  ASSERT_EQ(out.samples.groups().size(), 3u);
  EXPECT_TRUE(out.samples.groups()[0].left);
  EXPECT_FALSE(out.samples.groups()[1].left) << "the ancestor is the same";
  EXPECT_EQ(out.samples.groups()[1].last->charge, 600 * kMiB);
  EXPECT_EQ(out.samples.groups()[2].last->charge, 200 * kMiB);
  EXPECT_EQ(out.samples.groups()[2].last->page_tables, 2 * kMiB);
}

TEST(Samples, WaitsOfGroupsAndOfTheProcess) {
  Builder b;
  const std::uint32_t own = b.text("/sys/fs/cgroup/job");
  b.on(0);
  const std::uint16_t counts = format::kCountsOfLevel;
  b.put(EventType::sample_pressure, 0, counts, {1, 2, 3, 4}); // of no group that was seen
  group(b, 0, own, 100 * kMiB);
  b.put(EventType::sample_pressure, 0, 0, {halves(3800, 120), 17, halves(950, 0), 5});
  b.put(EventType::sample_pressure, 0, counts, {1, 10, 2, 30});
  b.put(EventType::sample_pressure, 0, counts, {4, 25, 3, 90});
  b.put(EventType::sample_pressure, 0, format::kCountsOfProcess, {0, kNotSaid, 0, 70});
  const ReadSamples out = read_samples(b);
  const SampledCgroup& g = out.samples.groups().at(0);
  EXPECT_EQ(g.first_waits->refaulted, 10u * 4096);
  EXPECT_EQ(g.waits->refaulted, 25u * 4096);
  EXPECT_EQ(g.waits->swapped_in, 3u * 4096);
  EXPECT_EQ(g.waits->major_faults, 90u);
  EXPECT_EQ(g.waits->throttled, 4u);
  EXPECT_EQ(g.pressure->some_us, 17u) << "the counts are not a pressure";
  EXPECT_FALSE(out.samples.pressure()) << "of the machine";
  EXPECT_EQ(out.samples.waits()->major_faults, 70u);
  EXPECT_EQ(out.samples.waits()->refaulted, kNotSaid);
}

TEST(Samples, LimitsPressureMachineAddressSpace) {
  Builder b;
  const std::uint32_t own = b.text("/sys/fs/cgroup/job");
  b.on(0);
  b.put(EventType::sample_limits, 0, 0, {1, 2, 3, 4, 5, 6}); // of no group that was seen
  group(b, 0, own, 100 * kMiB);
  b.put(EventType::sample_limits, 0, 0, {kNotSaid, 70 * kMiB, 80 * kMiB, 3, 1, 2});
  b.put(EventType::sample_pressure, 0, 0, {halves(3800, 120), 17, halves(950, 0), 5});
  b.put(EventType::sample_pressure, 0, format::kWholeMachine, {halves(100, 0), 1, 0, 0});
  b.put(EventType::sample_machine, 0, 0, {10, 9, 8, 7, 6, 5});
  b.put(EventType::sample_machine, 0, 0, {10, 4, 8, 7, 60, 5});
  b.put(EventType::sample_node, 0, 0, {1, 2, 3, format::halves(4, 5), 6, format::halves(7, 8)});
  b.put(EventType::sample_node, 0, 0, {1, 1, 9, 0, 6, 0}); // less that only its owners can give back
  b.put(EventType::sample_address_space, 0, 0, {100, 200, 50, kNotSaid, 0, 64});
  const ReadSamples out = read_samples(b);
  const SampledCgroup& g = out.samples.groups().at(0);
  EXPECT_EQ(g.limits->high, kNotSaid);
  EXPECT_EQ(g.limits->highest, 80 * kMiB);
  EXPECT_EQ(g.limits->met, 3u);
  EXPECT_EQ(g.limits->ooms, 2u);
  EXPECT_EQ(g.limits->kills_all, true);
  EXPECT_DOUBLE_EQ(g.pressure->some_avg10, 38.0);
  EXPECT_DOUBLE_EQ(g.pressure->full_avg10, 9.5);
  EXPECT_DOUBLE_EQ(out.samples.pressure()->some_avg10, 1.0);
  EXPECT_EQ(out.samples.first_machine()->shm_used, 6u);
  EXPECT_EQ(out.samples.machine()->shm_used, 60u);
  EXPECT_EQ(out.samples.machine()->available, 4u);
  const NodeSample& node = *out.samples.fullest_node();
  EXPECT_EQ(node.total, 10u);
  EXPECT_EQ(node.free, 1u);
  EXPECT_EQ(node.anonymous, 2u);
  EXPECT_EQ(node.cache, 3u);
  EXPECT_EQ(node.shmem, 4 * format::kPage);
  EXPECT_EQ(node.dirty, 5 * format::kPage);
  EXPECT_EQ(node.kernel, 6u);
  EXPECT_EQ(node.page_tables, 7 * format::kPage);
  EXPECT_EQ(node.hugetlb, 8 * format::kPage);
  EXPECT_EQ(out.samples.address_spaces().back().size_limit, 200u);
  EXPECT_EQ(out.samples.address_spaces().back().data_limit, kNotSaid);
}

TEST(Samples, FailuresAreCountedAndTheLastKept) {
  Builder b;
  b.on(3);
  for (std::uint64_t i = 0; i < 100; ++i)
    b.put(EventType::failure, static_cast<std::uint8_t>(Kind::mmap_anon), format::kNoAccess,
          {i * kMiB, halves(12, 0x22), 7, 5 * kMiB, kNotSaid, kNotSaid});
  b.put(EventType::failure, static_cast<std::uint8_t>(Kind::device),
        static_cast<std::uint16_t>(format::kTensor | 2 << format::kMemoryShift), {kMiB, 2, 8, 1, 2, 3});
  const ReadSamples out = read_samples(b);
  EXPECT_EQ(out.samples.failed(), 101u);
  ASSERT_EQ(out.samples.failures().size(), Samples::kLate);
  const Failure& map = out.samples.failures()[Samples::kLate - 2];
  EXPECT_EQ(map.asked, 99 * kMiB);
  EXPECT_EQ(map.code, 12u);
  EXPECT_EQ(map.map_flags, 0x22u);
  EXPECT_EQ(map.kind, Kind::mmap_anon);
  EXPECT_TRUE(map.no_access);
  EXPECT_EQ(map.stack, format::StackId{7});
  EXPECT_EQ(map.thread, 3u);
  EXPECT_EQ(map.live, 5 * kMiB);
  const Failure& device = out.samples.failures().back();
  EXPECT_EQ(device.memory, 2u);
  EXPECT_TRUE(device.tensor);
  EXPECT_EQ(device.free, 2u);
  EXPECT_EQ(device.total, 3u);
}

} // namespace
} // namespace memtrace::trace
