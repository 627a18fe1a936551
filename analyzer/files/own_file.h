// Purpose: changes words of a file that a running process has mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace memtrace::files {

// A regular file of this user, or of another if this user is root. It has one name, and no link is followed: in
// a directory that all users may write, another user can put a link there.
class OwnFile {
 public:
  explicit OwnFile(const std::string& path); // not open, with errno set, if it cannot be opened
  ~OwnFile();
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  // Return false if not all bytes are there, or could be written. A process that has mapped the file sees each
  // write.
  bool read(std::uint64_t offset, void* out, std::size_t bytes) const;
  bool write(std::uint64_t offset, const void* data, std::size_t bytes) const;

 private:
  int descriptor_ = -1;
};

} // namespace memtrace::files
