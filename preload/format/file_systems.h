// Purpose: the file systems that other hosts may share, by the number that statfs gives, and the mounts that
// are removed with a job.
#pragma once

#include <cstdint>
#include <string_view>

namespace memtrace::format {

inline constexpr std::uint32_t kNetworkTypes[] = {
    0x6969,     // NFS
    0x517B,     // SMB
    0xFF534D42, // CIFS
    0xFE534D42, // SMB 2
    0x0BD00BD0, // Lustre
    0x65735546, // FUSE, virtiofs: the medium is not known, it may be local
    0x00C36400, // Ceph
    0x47504653, // GPFS
    0x19830326, // BeeGFS
    0x01021997, // 9P
    0x5346414F, // AFS
    0x6B414653, // the kernel's AFS
    0x73757245, // Coda
    0x7461636F, // OCFS2
    0x01161970, // GFS2
    0xAAD7AAEA, // PanFS
    0x786F4256, // VirtualBox's shared folders
};

// True if a file system of this type may be on a server, so that an access to it may wait.
constexpr bool is_network(std::uint32_t type) {
  for (const std::uint32_t magic : kNetworkTypes)
    if (type == magic) return true;
  return false;
}

// True if a file system of this type is in memory.
constexpr bool is_memory(std::uint32_t type) {
  return type == 0x01021994     // tmpfs
         || type == 0x858458F6  // ramfs
         || type == 0x958458F6; // hugetlbfs
}

// A line of /proc/self/mountinfo, as far as the parts are needed.
struct Mount {
  std::string_view root, point, type;
};

constexpr std::string_view next_word(std::string_view& line) {
  const std::size_t end = line.find(' ') < line.size() ? line.find(' ') : line.size();
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end < line.size() ? end + 1 : end);
  return word;
}

// Reads a line such as "36 35 98:0 /root /mnt rw,noatime shared:1 - ext4 /dev/sda1 rw".
constexpr Mount parse_mount(std::string_view line) {
  Mount out;
  for (int i = 0; i < 3; ++i) next_word(line);
  out.root = next_word(line);
  out.point = next_word(line);
  while (!line.empty() && next_word(line) != "-") {
  }
  out.type = next_word(line);
  return out;
}

// True if `path` is the mount point or is below it.
constexpr bool is_at(const Mount& mount, std::string_view path) {
  if (mount.point == "/") return true;
  return path.starts_with(mount.point) &&
         (path.size() == mount.point.size() || path[mount.point.size()] == '/');
}

// True if the files on this mount are removed when the job, its pod or its container ends: a container's own
// file system, memory, an emptyDir, a /tmp of systemd or of Slurm.
constexpr bool goes_with_job(const Mount& mount) {
  for (const std::string_view type : {"overlay", "aufs", "tmpfs", "ramfs", "fuse.fuse-overlayfs"})
    if (mount.type == type) return true;
  const auto has = [&](std::string_view part) { return mount.root.find(part) != std::string_view::npos; };
  const bool is_temporary = mount.point == "/tmp" || mount.point == "/var/tmp";
  return has("/kubernetes.io~empty-dir/") || has("/systemd-private-") || (is_temporary && has("/."));
}

} // namespace memtrace::format
