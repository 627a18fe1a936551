// Purpose: which mounts are removed with a job, from lines of /proc/self/mountinfo as nodes have them.
#include "preload/format/file_systems.h"

#include <gtest/gtest.h>

#include <string_view>

namespace memtrace::format {
namespace {

bool goes(std::string_view line) {
  return goes_with_job(parse_mount(line));
}

TEST(FileSystems, ParseALineWithOptionalFieldsAndWithout) {
  const Mount with = parse_mount("36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:2 - ext3 /dev/root rw");
  EXPECT_EQ(with.root, "/mnt1");
  EXPECT_EQ(with.point, "/mnt2");
  EXPECT_EQ(with.type, "ext3");
  EXPECT_EQ(parse_mount("36 35 98:0 / / rw - xfs /dev/vda rw").type, "xfs");
  EXPECT_EQ(parse_mount("").type, "");
}

TEST(FileSystems, DisksThatGoWithTheJob) {
  EXPECT_TRUE(goes("700 600 0:55 / / rw,relatime - overlay overlay rw,lowerdir=/a,upperdir=/b,workdir=/c"));
  EXPECT_TRUE(goes("25 30 0:22 / /dev/shm rw,nosuid,nodev shared:3 - tmpfs tmpfs rw"));
  EXPECT_TRUE(
      goes("1523 1503 259:1 /var/lib/kubelet/pods/6f2c/volumes/kubernetes.io~empty-dir/scratch /scratch "
           "rw,relatime - ext4 /dev/nvme0n1p1 rw"));
  EXPECT_TRUE(goes("410 380 8:2 /local/slurm/1234/.1234 /tmp rw,relatime - xfs /dev/sda2 rw"));
  EXPECT_TRUE(
      goes("90 80 8:1 /tmp/systemd-private-5f-job.service-Kx/tmp /tmp rw shared:4 - ext4 /dev/sda1 rw"));
}

TEST(FileSystems, DisksThatStay) {
  EXPECT_FALSE(goes("30 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw"));
  EXPECT_FALSE(goes("31 30 8:2 / /tmp rw,relatime shared:2 - xfs /dev/sda2 rw"));
  EXPECT_FALSE(goes("1524 1503 259:1 /data/traces /traces rw,relatime - ext4 /dev/nvme0n1p1 rw")) << "hostPath";
  EXPECT_FALSE(goes("32 30 0:26 /@tmp /tmp rw,relatime - btrfs /dev/sda3 rw,subvol=/@tmp"));
}

TEST(FileSystems, AMountCoversItsPointAndWhatIsBelow) {
  const Mount mount = parse_mount("31 30 8:2 / /tmp rw - xfs /dev/sda2 rw");
  EXPECT_TRUE(is_at(mount, "/tmp"));
  EXPECT_TRUE(is_at(mount, "/tmp/job"));
  EXPECT_FALSE(is_at(mount, "/tmpfiles"));
  EXPECT_TRUE(is_at(parse_mount("30 1 8:1 / / rw - ext4 /dev/sda1 rw"), "/tmp"));
}

} // namespace
} // namespace memtrace::format
