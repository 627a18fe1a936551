// Purpose: writes files: beside traces, and files that the user names.
#include "analyzer/files/writing.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace memtrace::files {
namespace {

constexpr int kTries = 100; // names may be taken by processes that were killed while they wrote

bool put_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(fd, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put == 0) errno = EIO;
    if (put <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

// If writing fails, closes `fd`, sets errno and returns false.
bool write(int fd, std::string_view text) {
  if (put_all(fd, text)) return true;
  const int why = errno;
  ::close(fd);
  errno = why;
  return false;
}

bool write_and_close(int fd, std::string_view text) {
  return write(fd, text) && ::close(fd) == 0;
}

// So that the name of a new file outlives a crash of the machine. Where the file system cannot, it stays
// undone.
void sync_directory(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  const int fd = ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

} // namespace

NewFile::NewFile(const std::string& path) : path_(path) {
  struct stat older {};
  if (::lstat(path.c_str(), &older) == 0) older_device_ = older.st_dev, older_inode_ = older.st_ino;
  for (int i = 0; i < kTries && descriptor_ < 0; ++i) {
    partial_ = path + "." + std::to_string(::getpid()) + (i == 0 ? "" : "-" + std::to_string(i));
    descriptor_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (descriptor_ < 0 && errno != EEXIST) return;
  }
  if (descriptor_ < 0) errno = EBUSY; // EEXIST would be about `path`
}

NewFile::~NewFile() {
  if (descriptor_ < 0) return;
  const int why = errno; // the caller may still want to name it
  ::close(descriptor_);
  ::unlink(partial_.c_str());
  errno = why;
}

bool NewFile::write(std::string_view bytes) {
  return is_open() && put_all(descriptor_, bytes);
}

bool NewFile::finish() {
  if (!is_open()) return false;
  const int fd = std::exchange(descriptor_, -1);
  if (::close(fd) == 0 && ::rename(partial_.c_str(), path_.c_str()) == 0) return true;
  const int why = errno;
  ::unlink(partial_.c_str());
  errno = why;
  return false;
}

// link() is atomic: of two processes, one gets EEXIST. A file system without links has EPERM or another error.
bool NewFile::give_name_as_first() const {
  struct stat now {};
  const bool exists = ::lstat(path_.c_str(), &now) == 0;
  if (!exists && ::link(partial_.c_str(), path_.c_str()) == 0) {
    ::unlink(partial_.c_str());
    return true;
  }
  if (!exists && errno == EEXIST) return false;
  errno = EEXIST;
  if (exists && (now.st_ino != older_inode_ || now.st_dev != older_device_)) return false;
  return ::rename(partial_.c_str(), path_.c_str()) == 0;
}

bool NewFile::finish_as_first() {
  if (!is_open()) return false;
  const int fd = std::exchange(descriptor_, -1);
  const bool stored = ::fsync(fd) == 0;
  int why = errno;
  const bool closed = ::close(fd) == 0;
  if (stored && !closed) why = errno;
  if (stored && closed && give_name_as_first()) {
    sync_directory(path_);
    return true;
  }
  if (stored && closed) why = errno;
  ::unlink(partial_.c_str());
  errno = why;
  return false;
}

NamedFile::NamedFile(const std::string& path)
    : descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {}

NamedFile::~NamedFile() {
  const int why = errno; // the caller may still want to name it
  if (descriptor_ >= 0) ::close(descriptor_);
  errno = why;
}

bool NamedFile::write(std::string_view bytes) {
  return is_open() && put_all(descriptor_, bytes);
}

bool NamedFile::finish() {
  return is_open() && ::close(std::exchange(descriptor_, -1)) == 0;
}

bool replace(const std::string& path, std::string_view text) {
  NewFile file(path);
  return file.write(text) && file.finish();
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

bool write_system(const std::string& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  return fd >= 0 && write_and_close(fd, text);
}

} // namespace memtrace::files
