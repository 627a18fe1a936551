// Purpose: limits, and how much of each was needed, used and never used.
#include "analyzer/rss/headroom.h"

#include <gtest/gtest.h>

#include "folder.h"
#include "tests/unit/sizes.h"

namespace memtrace::tests {
namespace {

using format::kNotSaid;
using report::Headroom;

class Limits : public Folder {
 protected:
  // `file` bytes of page cache, of which `shmem` are shared memory and `dirty` must be written.
  void charge(std::uint64_t charge, std::uint64_t limit, std::uint64_t file, std::uint64_t shmem = 0,
              std::uint64_t dirty = 0) {
    b.put(EventType::sample_cgroup, 0, format::kVersionTwo, {group, charge, limit, charge - file, file, 0});
    b.put(EventType::sample_charge, 0, 0, {shmem, 0, 0, 0, 0, dirty});
  }
  void highest(std::uint64_t highest, std::uint64_t high = kNotSaid) {
    b.put(EventType::sample_limits, 0, 0, {high, kNotSaid, highest, 0, 2, 0});
  }
  std::vector<Headroom> found() {
    write(".memtrace", b.bytes());
    return report::headrooms(analysis());
  }
  Builder b;
  std::uint32_t group = b.text("/sys/fs/cgroup/job/step");
};

TEST_F(Limits, PageCacheIsUsedButNotNeeded) {
  b.on(0).birth(1, 100);
  charge(300 * kMiB, 400 * kMiB, 50 * kMiB);
  highest(350 * kMiB);
  charge(390 * kMiB, 400 * kMiB, 200 * kMiB, 20 * kMiB, 5 * kMiB);
  highest(397 * kMiB);
  const std::vector<Headroom> all = found();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].of, "cgroup");
  EXPECT_EQ(all[0].name, "/job/step");
  EXPECT_EQ(all[0].limit, 400 * kMiB);
  EXPECT_EQ(all[0].needed, 250 * kMiB) << "at the first sample; 215 MiB at the second";
  EXPECT_EQ(all[0].used, 397 * kMiB) << "between two samples, by the kernel";
  EXPECT_EQ(all[0].never_used(), 3 * kMiB);
  EXPECT_FALSE(all[0].soft);
}

TEST_F(Limits, APeakBeforeTheProgramIsNotItsUse) {
  b.on(0).birth(1, 100);
  charge(300 * kMiB, 400 * kMiB, 0);
  highest(399 * kMiB);
  charge(310 * kMiB, 400 * kMiB, 0);
  highest(399 * kMiB);
  EXPECT_EQ(found().at(0).used, 310 * kMiB);
}

TEST_F(Limits, MemoryHighDelaysFirst) {
  b.on(0).birth(1, 100);
  charge(300 * kMiB, 400 * kMiB, 0);
  highest(300 * kMiB, 350 * kMiB);
  const std::vector<Headroom> all = found();
  EXPECT_EQ(all.at(0).limit, 350 * kMiB);
  EXPECT_TRUE(all.at(0).soft);
}

TEST_F(Limits, OfTheProcessAndOfTheNode) {
  b.on(0).birth(1, 100);
  charge(300 * kMiB, kNotSaid, 0); // no limit
  b.put(EventType::sample_address_space, 0, 0, {900 * kMiB, 1024 * kMiB, 90 * kMiB, kNotSaid, 0, 0});
  b.put(EventType::sample_address_space, 0, 0, {700 * kMiB, 1024 * kMiB, 90 * kMiB, kNotSaid, 0, 0});
  b.put(EventType::sample_machine, 0, 0, {8192 * kMiB, 3000 * kMiB, 0, 0, 0, 0});
  b.put(EventType::sample_node, 0, 0, {500 * kMiB, 1, 2, 0, 0, 0});
  b.put(EventType::sample_machine, 0, 0, {8192 * kMiB, 6000 * kMiB, 0, 0, 0, 0});
  b.put(EventType::sample_node, 0, 0, {5000 * kMiB, 1, 2, 0, 0, 0});
  const std::vector<Headroom> all = found();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].of, "address_space");
  EXPECT_EQ(all[0].used, 900 * kMiB);
  EXPECT_EQ(all[0].never_used(), 124 * kMiB);
  EXPECT_EQ(all[1].of, "node");
  EXPECT_EQ(all[1].limit, 8192 * kMiB);
  EXPECT_EQ(all[1].needed, 5192 * kMiB) << "MemTotal less MemAvailable";
  EXPECT_EQ(all[1].used, 7692 * kMiB) << "MemTotal less MemFree";
}

TEST_F(Limits, TheLedgerOfACgroupHasSwapAndNodes) {
  b.on(0).birth(1, 100);
  charge(300 * kMiB, 400 * kMiB, 100 * kMiB);
  const std::uint16_t node = format::SampleNumaEvent::kFirstLevel;
  for (const std::uint64_t more : {0, 50, 20}) { // three samples: the second has the most
    b.put(EventType::sample_pressure, 0, node, {0, (100 + more) * kMiB, 0, 10 * kMiB});
    b.put(EventType::sample_pressure, 0, node + 1, {0, 100 * kMiB, 0, 90 * kMiB});
  }
  b.exit(0);
  write(".memtrace", b.bytes());
  const report::Json ledger = process()["ledger"][0];
  EXPECT_EQ(ledger["scope"], "cgroup");
  EXPECT_EQ(ledger["swap"], 0);
  ASSERT_EQ(ledger["numa"].size(), 2u);
  EXPECT_EQ(ledger["numa"][0]["anonymous"], 150 * kMiB);
  EXPECT_EQ(ledger["numa"][1]["page_cache"], 90 * kMiB);
  look.all = true;
  look.screen.columns = 300;
  EXPECT_NE(text().find("of the process's own cgroup 160.00 on node 0, 190.00 on node 1"), std::string::npos)
      << text();
}

TEST_F(Limits, InTheTextTheSmallestLimit) {
  b.on(0).birth(1, 100);
  charge(300 * kMiB, 400 * kMiB, 100 * kMiB);
  b.put(EventType::sample_machine, 0, 0, {8192 * kMiB, 3000 * kMiB, 0, 0, 0, 0});
  b.put(EventType::sample_node, 0, 0, {500 * kMiB, 1, 2, 0, 0, 0});
  b.exit(0);
  write(".memtrace", b.bytes());
  look.screen.columns = 300;
  const std::string first = text();
  EXPECT_NE(first.find("Limit of cgroup /job/step 400.00 MiB: needed at most 200.00 (without page cache that "
                       "the kernel can drop), used at most 300.00, never used 100.00"),
            std::string::npos)
      << first;
  EXPECT_EQ(first.find("Memory of node"), std::string::npos);
  look.all = true;
  EXPECT_NE(text().find("Memory of node"), std::string::npos);
  const report::Json json = process()["headroom"];
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["never_used"], 100 * kMiB);
  EXPECT_EQ(json[1]["of"], "node");
}

} // namespace
} // namespace memtrace::tests
