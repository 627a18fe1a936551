// Purpose: writes files: beside traces, and files that the user names.
#include "analyzer/files/writing.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace memtrace::files {
namespace {

constexpr int kTries = 100; // names may be taken by processes that were killed while they wrote

// If writing fails, closes `fd`, sets errno and returns false.
bool write(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(fd, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      const int why = put < 0 ? errno : EIO;
      ::close(fd);
      errno = why;
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

bool write_and_close(int fd, std::string_view text) {
  return write(fd, text) && ::close(fd) == 0;
}

} // namespace

bool replace(const std::string& path, std::string_view text) {
  std::string partial;
  int fd = -1;
  for (int i = 0; i < kTries && fd < 0; ++i) {
    partial = path + "." + std::to_string(::getpid()) + (i == 0 ? "" : "-" + std::to_string(i));
    fd = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 && errno != EEXIST) return false;
  }
  if (fd < 0) return false;
  if (write_and_close(fd, text) && ::rename(partial.c_str(), path.c_str()) == 0) return true;
  const int why = errno;
  ::unlink(partial.c_str());
  errno = why;
  return false;
}

bool append(const std::string& path, std::string_view text) {
  const int fd =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (fd < 0) return false;
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink > 1) {
    ::close(fd);
    errno = EPERM;
    return false;
  }
  return write_and_close(fd, text);
}

bool write_named(const std::string& path, const std::vector<std::string>& pieces) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return false;
  for (const std::string& piece : pieces)
    if (!write(fd, piece)) return false;
  return ::close(fd) == 0;
}

bool write_system(const std::string& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  return fd >= 0 && write_and_close(fd, text);
}

} // namespace memtrace::files
