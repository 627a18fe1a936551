// Purpose: hosts of a job whose memory, page cache or shared memory differs.
#include "analyzer/rss/host_outliers.h"

#include <gtest/gtest.h>

#include "folder.h"
#include "tests/unit/sizes.h"

namespace memtrace::tests {
namespace {

class HostOutliers : public Folder {
 protected:
  // A rank on a machine of `total` bytes, of which `cache` is page cache and `shmem` is shared memory.
  void add(report::Hosts& hosts, const std::string& host, std::uint32_t rank, std::uint64_t total,
           std::uint64_t cache, std::uint64_t shmem) {
    Builder b;
    b.on(0).birth(1, 100);
    b.put(EventType::sample_machine, 0, 0, {total, kGiB, 0, 0, 0, 0});
    b.put(EventType::sample_node, 0, 0, {kGiB, kGiB, cache + shmem, shmem / format::kPage, 0, 0});
    write(".memtrace", b.bytes());
    trace::Facts facts;
    facts.host = host;
    facts.rank = rank;
    hosts.add(facts, trace::Trace(file(".memtrace")).samples());
  }
};

TEST_F(HostOutliers, AHostWithHalfTheMemoryOrMoreCacheIsNamed) {
  report::Hosts hosts;
  add(hosts, "a", 0, 64 * kGiB, 4 * kGiB, 0);
  add(hosts, "a", 1, 64 * kGiB, 4 * kGiB, 0);
  add(hosts, "b", 2, 64 * kGiB, 5 * kGiB, 0);
  EXPECT_TRUE(hosts.outliers().empty());
  add(hosts, "c", 5, 32 * kGiB, 4 * kGiB, 12 * kGiB);
  add(hosts, "c", 4, 32 * kGiB, 4 * kGiB, 12 * kGiB);
  add(hosts, "d", 6, 64 * kGiB, 30 * kGiB, 0);
  const auto found = hosts.outliers();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].host + found[0].what, "cmemory");
  EXPECT_EQ(found[0].bytes, 32 * std::int64_t{kGiB});
  EXPECT_EQ(found[0].median, 64 * std::int64_t{kGiB});
  EXPECT_EQ(found[0].others, 3u);
  EXPECT_EQ(found[0].ranks, (std::vector<std::uint32_t>{4, 5}));
  EXPECT_EQ(found[1].host + found[1].what, "cshared memory");
  EXPECT_EQ(found[2].host + found[2].what, "dpage cache");
}

TEST_F(HostOutliers, OneHostHasNoOther) {
  report::Hosts hosts;
  add(hosts, "a", 0, 64 * kGiB, 40 * kGiB, 0);
  EXPECT_TRUE(hosts.outliers().empty());
}

} // namespace
} // namespace memtrace::tests
