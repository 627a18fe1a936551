// Purpose: writes files: beside traces, and files that the user names.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace memtrace::files {

// What takes the parts of an output, in order.
using TakePart = std::function<void(std::string_view)>;

// Each function returns false, with errno set, if it could not write all bytes.

// Replaces the whole file by renaming a new file, so a reader sees the old content or all of the new one. Never
// writes to the old file, because another user may have put a link there.
bool replace(const std::string& path, std::string_view text);

// Appends to a regular file with no other hard link, or creates the file. Does not follow links.
bool append(const std::string& path, std::string_view text);

// A file that the user named, written in parts. Follows links and truncates the file.
class NamedFile {
 public:
  explicit NamedFile(const std::string& path); // not open, with errno set, if it cannot be opened
  ~NamedFile();
  NamedFile(const NamedFile&) = delete;
  NamedFile& operator=(const NamedFile&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  bool write(std::string_view bytes);
  bool finish();

 private:
  int descriptor_ = -1;
};

// A file that gets its name when it is complete. Until then it has another name beside it, and an older file
// stays.
class NewFile {
 public:
  // The file is not open, with errno set, if it cannot be made.
  explicit NewFile(const std::string& path);
  ~NewFile(); // removes a file that is not complete
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  bool write(std::string_view bytes);
  bool finish();
  // As finish(), but returns false with EEXIST if the path has a file that it did not have when this object was
  // made: two runs may write to one name, and each file may be the only one with its traces. Returns when the
  // disk has the file.
  bool finish_as_first();

 private:
  bool give_name_as_first() const;

  std::string path_;
  std::string partial_;
  std::uint64_t older_device_ = 0; // of the file at the path
  std::uint64_t older_inode_ = 0;  // 0: there was none
  int descriptor_ = -1;
};

// Writes a setting of this process in /proc.
bool write_system(const std::string& path, std::string_view text);

} // namespace memtrace::files
