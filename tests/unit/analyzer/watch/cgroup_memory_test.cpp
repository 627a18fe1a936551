// Purpose: the figures of a memory cgroup, from files as the kernel writes them in version 1 and 2.
#include "analyzer/watch/cgroup_memory.h"

#include <gtest/gtest.h>

#include "builder.h"

namespace memtrace::watch {
namespace {

class CgroupFiles : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) { tests::write_file(scratch_.file(name), text); }

  tests::Scratch scratch_;
  const Threshold threshold_ = Threshold::of_share(0.9);
};

// shmem, and pages that must be written first, are not clean page cache.
TEST_F(CgroupFiles, OfVersionTwo) {
  put("memory.max", "1000\n");
  put("memory.current", "950\n");
  put("memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n");
  put("memory.stat",
      "anon 500\nfile 400\nkernel 50\nshmem 60\nfile_mapped 9\nfile_dirty 30\nfile_writeback 10\n"
      "inactive_file 300\n");
  CgroupMemory memory({"/a", scratch_.path(), true});
  const auto charge = memory.read(threshold_);
  ASSERT_TRUE(charge);
  EXPECT_EQ(charge->limit, 1000u);
  EXPECT_EQ(charge->charge, 950u);
  EXPECT_EQ(charge->held, 950u - (400 - 60 - 30 - 10));
  put("memory.current", "899\n");
  CgroupMemory far({"/a", scratch_.path(), true});
  EXPECT_EQ(far.read(threshold_)->held, 899u) << "memory.stat is not needed far from the limit";
  put("memory.max", "max\n");
  CgroupMemory free({"/a", scratch_.path(), true});
  EXPECT_FALSE(free.read(threshold_)) << "no limit";
}

TEST_F(CgroupFiles, OfVersionOne) {
  put("memory.limit_in_bytes", "1000\n");
  put("memory.usage_in_bytes", "1000\n");
  put("memory.stat",
      "cache 1\nrss 2\nshmem 1\ntotal_cache 700\ntotal_rss 300\ntotal_shmem 100\ntotal_dirty 50\n"
      "total_writeback 0\n");
  CgroupMemory memory({"/a", scratch_.path(), false});
  EXPECT_EQ(memory.read(threshold_)->held, 1000u - 550);
  put("memory.limit_in_bytes", "9223372036854771712\n");
  CgroupMemory free({"/a", scratch_.path(), false});
  EXPECT_FALSE(free.read(threshold_));
}

TEST_F(CgroupFiles, ThatAreGone) {
  CgroupMemory memory({"/a", scratch_.file("nowhere"), true});
  EXPECT_FALSE(memory.read(threshold_));
  EXPECT_LT(memory.alarm(threshold_), 0);
}

} // namespace
} // namespace memtrace::watch
