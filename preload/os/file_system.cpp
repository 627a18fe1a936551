// Purpose: finds the medium of a directory (disk, memory or network), and tests whether a file there can grow.
// Runs: when recording begins.
#include "preload/os/file_system.h"

#include <cerrno>

#include "preload/os/files.h"
#include "preload/os/paths.h"

namespace memtrace::record {

Medium medium_of(const char* directory) {
  static constexpr std::uint32_t network[] = {
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
  static constexpr std::uint32_t memory[] = {
      0x01021994, // tmpfs
      0x858458F6, // ramfs
      0x958458F6, // hugetlbfs
  };
  const long type = os::file_system_at(directory);
  if (type < 0 && type > -4096) return Medium::network;
  for (const std::uint32_t magic : network)
    if (static_cast<std::uint32_t>(type) == magic) return Medium::network;
  for (const std::uint32_t magic : memory)
    if (static_cast<std::uint32_t>(type) == magic) return Medium::memory;
  return Medium::disk;
}

long try_room(long fd, std::uint64_t bytes) {
  const long result = os::reserve(fd, 0, bytes);
  if (result == 0) return os::cut(fd, 0);
  // EPERM: the seccomp filter of a container refuses only fallocate.
  if (result != -EOPNOTSUPP && result != -ENOSYS && result != -EPERM) return result;
  return os::free_bytes(fd) < bytes ? -ENOSPC : 0;
}

} // namespace memtrace::record
