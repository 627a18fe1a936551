// Purpose: tests the memory that a job had for its time, and what of it was not used, against hand-made traces.
#include "analyzer/rss/job_capacity.h"

#include <gtest/gtest.h>

#include "analyzer/print/json/outlier_json.h"
#include "analyzer/print/text/job_head.h"
#include "builder.h"
#include "folder.h"
#include "tests/unit/sizes.h"

namespace memtrace::tests {
namespace {

constexpr std::uint16_t kGpu = 1 << format::kMemoryShift;
constexpr std::uint64_t kHour = 3600 * kSecond;

class Capacity : public Folder {
 protected:
  // A rank that ran for `hours`: a cgroup of 10 GiB, or a machine of 64 GiB, and a GPU of 80 GiB.
  void add(std::uint32_t rank, std::uint64_t hours, std::uint64_t charge, bool in_group = true) {
    Builder b;
    b.rank(rank, 4);
    const std::uint32_t group = b.text("/sys/fs/cgroup/job");
    b.on(0).birth(1, 100);
    if (in_group)
      b.put(EventType::sample_cgroup, 0, format::kVersionTwo, {group, charge, 10 * kGiB, charge, 0, 0});
    b.put(EventType::sample_machine, 0, 0, {64 * kGiB, 40 * kGiB, 0, 0, 0, 0});
    b.put(EventType::sample_node, 0, 0, {20 * kGiB, 1, 2, 0, 0, 0});
    b.birth(std::uint64_t{1} << 40, 8 * kGiB, Kind::device, kGpu, 0, 8 * kGiB);
    b.birth(std::uint64_t{1} << 40, 0, Kind::none, static_cast<std::uint16_t>(kGpu | format::kTensor), 0,
            6 * kGiB);
    b.put(EventType::reserved, 0, kGpu, {6 * kGiB, 8 * kGiB});
    b.put(EventType::sample_device, 0, kGpu, {9 * kGiB, 9 * kGiB, 80 * kGiB, 0, 0, 0});
    b.wait(hours * kHour / 2).birth(2, 100).wait(hours * kHour / 2).exit(0);
    write(".memtrace", b.bytes());
    report::JobCapacity apart;
    apart.add(analysis());
    job.add(std::move(apart));
  }
  report::CapacityLimit of(const std::string& kind) const {
    for (const report::CapacityLimit& one : job.limits())
      if (one.of == kind) return one;
    return {};
  }
  report::JobCapacity job;
};

TEST_F(Capacity, ALimitOfSeveralRanksCountsOnceForTheTimeOfAll) {
  add(0, 2, 4 * kGiB);
  add(1, 3, 7 * kGiB);
  ASSERT_EQ(job.limits().size(), 2u) << "the machine is not the job's: it is in a cgroup";
  const report::CapacityLimit group = of("cgroup");
  EXPECT_EQ(group.limit, 10 * kGiB);
  EXPECT_EQ(group.used, 7 * kGiB);
  EXPECT_EQ(group.ranks, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_NEAR(group.seconds(), 3 * 3600, 1e-3);
  EXPECT_NEAR(group.never_used(), 3.0 * 3600 * static_cast<double>(3 * kGiB), 1e9);
}

TEST_F(Capacity, WithoutACgroupItIsTheMachine) {
  add(0, 2, 0, false);
  const report::CapacityLimit node = of("node");
  EXPECT_EQ(node.limit, 64 * kGiB);
  EXPECT_EQ(node.used, 44 * kGiB);
  EXPECT_EQ(node.needed, 24 * kGiB);
}

TEST_F(Capacity, AnAllocatorsCacheIsCountedOverTime) {
  add(0, 2, 4 * kGiB);
  const report::CapacityLimit gpu = of("device");
  EXPECT_EQ(gpu.limit, 80 * kGiB);
  EXPECT_EQ(gpu.used, 9 * kGiB);
  ASSERT_TRUE(gpu.cached_seconds);
  EXPECT_NEAR(*gpu.cached_seconds, 2.0 * 3600 * static_cast<double>(2 * kGiB), 1e9)
      << "8 GiB held, 6 GiB of tensors";
}

TEST_F(Capacity, IsWrittenInGibHours) {
  add(0, 2, 4 * kGiB);
  const report::Json json = report::capacity_json(job.limits());
  EXPECT_NEAR(json["all"].get<double>(), 2 * (10 + 80), 1e-3);
  EXPECT_NEAR(json["never_used"].get<double>(), 2 * (6 + 71), 1e-3);
  EXPECT_NEAR(json["cached"].get<double>(), 4, 1e-3);
  report::Lines lines({});
  report::write_capacity(job.limits(), lines);
  EXPECT_EQ(lines.take(),
            "Host memory of the job: 20.0 GiB-hours, 12.0 never used\n"
            "GPU memory of the job: 160.0 GiB-hours, 142.0 never used; 4.0 held by the framework, not used\n");
}

TEST_F(Capacity, OfAShortJobThereIsNoLine) {
  add(0, 0, 4 * kGiB);
  report::Lines lines({});
  report::write_capacity(job.limits(), lines);
  EXPECT_EQ(lines.take(), "");
}

} // namespace
} // namespace memtrace::tests
