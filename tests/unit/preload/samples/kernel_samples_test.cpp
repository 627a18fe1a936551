// Purpose: what the kernel says of this process, against the kernel.
#include "preload/samples/kernel_samples.h"
#include "preload/format/sample_events.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "child.h"
#include "group_files.h"
#include "preload/os/timestamp.h"
#include "reading.h"
#include "tests/unit/sizes.h"

namespace memtrace::record {
namespace {

using format::EventType;
using format::RingRecord;
using tests::in_child;
using tests::Scratch;

using tests::kMiB;

std::uint64_t status(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key + ":")) return std::stoull(line.substr(key.size() + 1)) * 1024;
  return 0;
}

// What the kernel has in a file of one number; all ones when it is "max" or, in v1, the largest there is.
std::uint64_t limit_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = ~std::uint64_t{0};
  file >> value;
  return file.fail() || value >= 0x7FFFFFFFFFFFF000 ? ~std::uint64_t{0} : value;
}

void expect_near(std::uint64_t got, std::uint64_t expected, std::uint64_t by, const char* what) {
  EXPECT_LE(got, expected + by) << what;
  EXPECT_GE(got + by, expected) << what;
}

TEST(Samples, ProcessAsInProc) {
  const Scratch scratch;
  in_child([&] {
    tests::open_files(scratch);
    std::vector<char> touched(20 * kMiB, 1);
    sample_now();
    touched.clear();
    touched.shrink_to_fit();
    sample_now();
    const auto samples = all_of(tests::read_segments(scratch.file("t.memtrace")), EventType::sample_process);
    ASSERT_EQ(samples.size(), 2u);
    const auto& before = samples[0].as<format::SampleProcessEvent>();
    const auto& after = samples[1].as<format::SampleProcessEvent>();
    EXPECT_GT(before.anon, after.anon + 15 * kMiB) << "anon falls";
    expect_near(after.anon, status("RssAnon"), 2 * kMiB, "anon");
    expect_near(after.file, status("RssFile"), 2 * kMiB, "file");
    expect_near(after.shmem, status("RssShmem"), 2 * kMiB, "shmem");
    expect_near(after.high_water, status("VmHWM"), 2 * kMiB, "high water");
    expect_near(after.page_tables, status("VmPTE"), kMiB, "page tables");
    EXPECT_GE(after.high_water, before.anon);
    EXPECT_GT(samples[1].stamp, samples[0].stamp);
  });
}

TEST(Samples, GroupsAsInSysfs) {
  const Scratch scratch;
  in_child([&] {
    tests::open_files(scratch);
    sample_now();
    sample_now();
    const auto segments = tests::read_segments(scratch.file("t.memtrace"));
    const auto samples = all_of(segments, EventType::sample_cgroup);
    if (samples.empty()) GTEST_SKIP() << "no memory cgroup can be read here";
    const auto texts = tests::texts_of(segments);
    EXPECT_EQ(samples.size() % 2, 0u) << "both samples have the same levels";
    EXPECT_EQ(texts.size(), samples.size() / 2) << "named once";
    std::string below;
    for (std::size_t i = 0; i < samples.size() / 2; ++i) {
      const RingRecord& sample = samples[i];
      EXPECT_EQ(sample.flags & 0xFF, i) << "its own first, then the ancestors";
      const auto& group = sample.as<format::SampleCgroupEvent>();
      const std::string path = texts.at(static_cast<std::uint32_t>(group.path));
      ASSERT_TRUE(std::filesystem::is_directory(path)) << path;
      EXPECT_TRUE(below.empty() || (below.starts_with(path) && below.size() > path.size())) << path;
      const bool two = std::filesystem::exists(path + "/memory.current");
      EXPECT_TRUE(two || std::filesystem::exists(path + "/memory.usage_in_bytes")) << path;
      EXPECT_GT(group.charge, 0u);
      EXPECT_EQ(group.limit >= 0x7FFFFFFFFFFFF000 ? ~std::uint64_t{0} : group.limit,
                limit_in(path + (two ? "/memory.max" : "/memory.limit_in_bytes")));
      EXPECT_LT(group.oom_kills, 1u << 30) << "a count of kills";
      below = path;
    }
  });
}

// Known: v1 says "none" as the largest page-aligned number, and it is written as it is. To be enabled with the
// fix.
TEST(Samples, NoLimitIsAllOnes) {
  const Scratch scratch;
  in_child([&] {
    tests::open_files(scratch);
    sample_now();
    for (const RingRecord& sample :
         all_of(tests::read_segments(scratch.file("t.memtrace")), EventType::sample_cgroup)) {
      const std::uint64_t limit = sample.as<format::SampleCgroupEvent>().limit;
      EXPECT_TRUE(limit == ~std::uint64_t{0} || limit < 0x7FFFFFFFFFFFF000) << limit;
    }
  });
}

TEST(Samples, AForkedChildNamesThemAgain) {
  const Scratch parent, child;
  in_child([&] {
    tests::open_files(parent);
    sample_now();
    forget_samples();
    tests::open_files(child);
    sample_now();
    const auto segments = tests::read_segments(child.file("t.memtrace"));
    EXPECT_EQ(segments.size(), 1u);
    EXPECT_EQ(segments.at(0).header.first_sequence, 0u);
    EXPECT_EQ(tests::texts_of(segments).size(), all_of(segments, EventType::sample_cgroup).size());
  });
}

TEST(Samples, NamesGoAgainWhenTheyWereNotWritten) {
  const Scratch scratch;
  in_child([&] {
    tests::open_files(scratch, format::kPage); // no room for a segment
    sample_now();
    EXPECT_TRUE(tests::read_segments(scratch.file("t.memtrace")).empty());
    const Scratch roomy;
    tests::open_files(roomy);
    sample_now();
    const auto segments = tests::read_segments(roomy.file("t.memtrace"));
    EXPECT_EQ(segments.at(0).header.first_sequence, 0u);
    EXPECT_EQ(tests::texts_of(segments).size(), all_of(segments, EventType::sample_cgroup).size());
  });
}

// The kernel's own files, read by other means, beside what was recorded of them.
TEST(Samples, TheChargeIsSplit) {
  const Scratch scratch;
  in_child([&] {
    tests::open_files(scratch);
    sample_now();
    const auto segments = tests::read_segments(scratch.file("t.memtrace"));
    const auto groups = all_of(segments, EventType::sample_cgroup);
    const auto charges = all_of(segments, EventType::sample_charge);
    if (groups.empty()) GTEST_SKIP() << "no memory cgroup can be read here";
    ASSERT_EQ(charges.size(), groups.size());
    const auto texts = tests::texts_of(segments);
    for (std::size_t i = 0; i < charges.size(); ++i) {
      EXPECT_EQ(charges[i].flags & 0xFF, groups[i].flags & 0xFF);
      const std::string path =
          texts.at(static_cast<std::uint32_t>(groups[i].as<format::SampleCgroupEvent>().path));
      const bool two = (groups[i].flags & format::kVersionTwo) != 0;
      EXPECT_EQ(two, std::filesystem::exists(path + "/memory.current"));
      std::ifstream stat(path + "/memory.stat");
      std::uint64_t shmem = 0, value = 0;
      for (std::string key; stat >> key >> value;)
        if (key == (two ? "shmem" : "total_shmem")) shmem = value;
      const auto& charge = charges[i].as<format::SampleChargeEvent>();
      expect_near(charge.shmem, shmem, 4 * kMiB, "shmem");
      if (!two) expect_near(charge.kernel, limit_in(path + "/memory.kmem.usage_in_bytes"), 8 * kMiB, "kernel");
    }
  });
}

void expect_waits(const decltype(tests::read_segments(""))& segments) {
  const auto pressure = all_of(segments, EventType::sample_pressure);
  ASSERT_GE(pressure.size(), 4u);
  EXPECT_EQ(pressure[0].flags, format::kCountsOfLevel) << "with the charge";
  const auto& waits = pressure[0].as<format::SampleWaitsEvent>();
  EXPECT_EQ(waits.throttled, 17u);
  EXPECT_EQ(waits.refaulted_pages, 3456u);
  EXPECT_EQ(waits.swapped_in_pages, 12u);
  EXPECT_EQ(waits.major_faults, 789u);
  EXPECT_EQ(pressure[1].flags, 0);
  EXPECT_EQ(pressure[2].flags, format::kCountsOfLevel + 1);
  EXPECT_EQ(pressure[2].as<format::SampleWaitsEvent>().refaulted_pages, format::kNotSaid) << "no such key";
  const auto& [some, full] = pressure[1].as<format::SamplePressureEvent>();
  EXPECT_EQ(some.avg10, 4105u);
  EXPECT_EQ(some.avg60, 1230u);
  EXPECT_EQ(some.total_us, 8123456u);
  EXPECT_EQ(full.avg10, 970u);
  EXPECT_EQ(full.avg60, 200u);
  EXPECT_EQ(full.total_us, 1234567u);
}

TEST(Samples, VersionTwoFromItsFiles) {
  if (!tests::can_enter_pod()) GTEST_SKIP() << "the files of a cgroup cannot be mounted here";
  const Scratch scratch;
  in_child([&] {
    ASSERT_TRUE(tests::enter_pod(scratch));
    tests::open_files(scratch);
    const Closeness closeness = sample_now();
    const auto segments = tests::read_segments(scratch.file("t.memtrace"));
    const auto groups = all_of(segments, EventType::sample_cgroup);
    ASSERT_EQ(groups.size(), 2u) << "the root has no figures";
    const auto& group = groups[0].as<format::SampleCgroupEvent>();
    EXPECT_EQ(tests::texts_of(segments).at(static_cast<std::uint32_t>(group.path)), tests::kPod);
    EXPECT_EQ(groups[0].flags, format::kVersionTwo);
    EXPECT_EQ(group.charge, 554696704u);
    EXPECT_EQ(group.limit, 2147483648u);
    EXPECT_EQ(group.anon, 402653184u);
    EXPECT_EQ(group.file, 134217728u);
    EXPECT_EQ(group.oom_kills, 1u);
    EXPECT_EQ(groups[1].as<format::SampleCgroupEvent>().limit, format::kNotSaid) << "max";
    const auto charges = all_of(segments, EventType::sample_charge);
    ASSERT_EQ(charges.size(), 2u);
    const auto& charge = charges[0].as<format::SampleChargeEvent>();
    EXPECT_EQ(charge.shmem, 33554432u);
    EXPECT_EQ(charge.kernel, 12582912u);
    EXPECT_EQ(charge.swap, 16777216u);
    EXPECT_EQ(charge.hugetlb, 4194304u);
    EXPECT_EQ(charge.page_tables, 3145728u);
    EXPECT_EQ(charge.dirty, 1048576u + 2097152u);
    const auto& older = charges[1].as<format::SampleChargeEvent>();
    EXPECT_EQ(older.kernel, 65536u + 131072u) << "before Linux 5.18 the kernel's part is a sum";
    EXPECT_EQ(older.hugetlb, format::kNotSaid);
    const auto limits = all_of(segments, EventType::sample_limits);
    ASSERT_EQ(limits.size(), 2u);
    const auto& set = limits[0].as<format::SampleLimitsEvent>();
    EXPECT_EQ(set.high, format::kNotSaid);
    EXPECT_EQ(set.swap, 0u);
    EXPECT_EQ(set.highest, 601882624u);
    EXPECT_EQ(set.met, 31u);
    EXPECT_EQ(set.kills_all, 1u);
    EXPECT_EQ(set.ooms, 3u);
    EXPECT_EQ(limits[1].as<format::SampleLimitsEvent>().kills_all, 2u) << "no memory.oom.group there";
    expect_waits(segments);
    EXPECT_FALSE(closeness.near);
    const std::uint64_t clean = 134217728 - 33554432 - 3145728;
    EXPECT_EQ(closeness.left, 2147483648 - (554696704 - clean));
  });
}

TEST(Samples, NumaNodesOfTheOwnGroup) {
  if (!tests::can_enter_pod()) GTEST_SKIP() << "the files of a cgroup cannot be mounted here";
  const Scratch scratch;
  in_child([&] {
    ASSERT_TRUE(tests::enter_pod(scratch));
    tests::open_files(scratch);
    sample_now();
    sample_now(Depth::groups);
    tests::put_group_file("memory.numa_stat", "anon N0=402653184\nfile N0=134217728\n");
    sample_now();
    std::vector<RingRecord> nodes;
    for (const RingRecord& record :
         all_of(tests::read_segments(scratch.file("t.memtrace")), EventType::sample_pressure))
      if (record.flags >= format::SampleNumaEvent::kFirstLevel && record.flags < format::kCountsOfProcess)
        nodes.push_back(record);
    ASSERT_EQ(nodes.size(), 2u) << "with the machine, and not if the kernel has one node";
    EXPECT_EQ(nodes[0].flags, format::SampleNumaEvent::kFirstLevel);
    EXPECT_EQ(nodes[0].as<format::SampleNumaEvent>().anon, 301989888u);
    EXPECT_EQ(nodes[0].as<format::SampleNumaEvent>().file, 34217728u);
    EXPECT_EQ(nodes[1].flags, format::SampleNumaEvent::kFirstLevel + 1);
    EXPECT_EQ(nodes[1].as<format::SampleNumaEvent>().anon, 100663296u);
    EXPECT_EQ(nodes[1].as<format::SampleNumaEvent>().file, 100000000u);
  });
}

TEST(Samples, MajorFaultsOfTheProcess) {
  const Scratch scratch;
  in_child([&] {
    tests::open_files(scratch);
    sample_now(Depth::process);
    sample_now(Depth::groups);
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    std::vector<RingRecord> own;
    for (const RingRecord& record :
         all_of(tests::read_segments(scratch.file("t.memtrace")), EventType::sample_pressure))
      if (record.flags == format::kCountsOfProcess) own.push_back(record);
    ASSERT_EQ(own.size(), 1u) << "only with the groups";
    EXPECT_LE(own[0].as<format::SampleWaitsEvent>().major_faults, static_cast<std::uint64_t>(usage.ru_majflt));
    EXPECT_EQ(own[0].as<format::SampleWaitsEvent>().refaulted_pages, format::kNotSaid);
  });
}

TEST(Samples, TheMachineAndTheAddressSpace) {
  const Scratch scratch;
  in_child([&] {
    tests::open_files(scratch);
    rlimit limit{std::uint64_t{64} << 30, std::uint64_t{64} << 30};
    ASSERT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
    sample_now();
    sample_now(Depth::process);
    const auto segments = tests::read_segments(scratch.file("t.memtrace"));
    const auto machine = all_of(segments, EventType::sample_machine);
    ASSERT_EQ(machine.size(), 1u) << "only where all is asked for";
    struct sysinfo info {};
    ::sysinfo(&info);
    const auto& memory = machine[0].as<format::SampleMachineEvent>();
    EXPECT_EQ(memory.total, info.totalram * info.mem_unit);
    EXPECT_LT(memory.available, memory.total);
    EXPECT_EQ(memory.swap_total, info.totalswap * info.mem_unit);
    struct statvfs shm {};
    if (::statvfs("/dev/shm", &shm) == 0) {
      EXPECT_EQ(memory.dev_shm_total, shm.f_blocks * shm.f_frsize);
      expect_near(memory.dev_shm_used, (shm.f_blocks - shm.f_bfree) * shm.f_frsize, 16 * kMiB, "/dev/shm");
    }
    const auto space = all_of(segments, EventType::sample_address_space);
    ASSERT_EQ(space.size(), 2u) << "where there is a limit, always";
    const auto& first = space[0].as<format::SampleAddressSpaceEvent>();
    expect_near(first.size, status("VmSize"), 2 * kMiB, "VmSize");
    EXPECT_EQ(first.size_limit, std::uint64_t{64} << 30);
    expect_near(first.data, status("VmData"), 2 * kMiB, "VmData");
  });
}

TEST(Samples, AGroupThatIsLeftIsNamedAnew) {
  if (!tests::can_enter_pod()) GTEST_SKIP() << "the files of a cgroup cannot be mounted here";
  const Scratch scratch;
  in_child([&] {
    ASSERT_TRUE(tests::enter_pod(scratch));
    const std::string other = "/sys/fs/cgroup/kubepods.slice/pod2";
    std::filesystem::create_directories(other);
    tests::put_group_file("memory.current", "1000000\n", other);
    tests::put_group_file("memory.max", "max\n", other);
    tests::open_files(scratch);
    sample_now();
    std::ofstream(scratch.file("cgroup")) << "0::/kubepods.slice/pod2\n";
    sample_now(Depth::groups);
    sample_now();
    const auto segments = tests::read_segments(scratch.file("t.memtrace"));
    const auto texts = tests::texts_of(segments);
    std::vector<std::string> own;
    for (const RingRecord& record : all_of(segments, EventType::sample_cgroup))
      if (record.flags % 256 == 0)
        own.push_back(texts.at(static_cast<std::uint32_t>(record.as<format::SampleCgroupEvent>().path)));
    EXPECT_EQ(own, (std::vector<std::string>{tests::kPod, tests::kPod, other})) << "looked for with all else";
  });
}

} // namespace
} // namespace memtrace::record
