// Purpose: the folders of the doctor's tries, and the directory in which a job that is started here is
// recorded.
#pragma once

#include <filesystem>
#include <string>

namespace memtrace::cli {

// A temporary folder in `parent`. The destructor removes it. The path is empty if no folder can be made.
class Folder {
 public:
  explicit Folder(const std::filesystem::path& parent);
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Returns the absolute value of MEMTRACE_OUT, or its default.
std::string wanted_directory();

// Returns the existing part of that directory, up to its first %-field, because those depend on the process.
std::filesystem::path place_of_traces();

// Returns the first directory in which a folder can be made: $TMPDIR, /tmp, that of the traces, /dev/shm. If
// there is none, returns the one to name in a message.
std::filesystem::path temporary_place();

} // namespace memtrace::cli
