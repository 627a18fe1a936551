// Purpose: changes words of a file that a running process has mapped.
#include "analyzer/files/own_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace memtrace::files {
namespace {

bool is_own(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return false;
  const bool may = status.st_uid == ::geteuid() || ::geteuid() == 0;
  if (may && S_ISREG(status.st_mode) && status.st_nlink == 1) return true;
  errno = EPERM;
  return false;
}

} // namespace

OwnFile::OwnFile(const std::string& path) {
  descriptor_ = ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor_ < 0 || is_own(descriptor_)) return;
  const int why = errno;
  ::close(descriptor_);
  descriptor_ = -1;
  errno = why;
}

OwnFile::~OwnFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool OwnFile::read(std::uint64_t offset, void* out, std::size_t bytes) const {
  return ::pread(descriptor_, out, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

bool OwnFile::write(std::uint64_t offset, const void* data, std::size_t bytes) const {
  return ::pwrite(descriptor_, data, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

} // namespace memtrace::files
