// Purpose: writes the output of a command to a file or to stdout.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/files/writing.h"

namespace memtrace::cli {

// Throws UsageError if a command must not replace the file `output`: it holds what a traced process recorded,
// as a packed file does. That cannot be made again.
void check_report_file(const std::string& output);
// As above, for a command that packs. It replaces only a regular file, because it gives its file the name at
// the end.
void check_packed_file(const std::string& output);

// An output that is written in parts: stdout if its path is "", else a file, which begins empty. write() and
// finish() throw UsageError if not all could be written.
class Output {
 public:
  explicit Output(const std::string& path);
  void write(std::string_view part);
  void finish();

 private:
  [[noreturn]] void refuse() const;

  std::string path_;
  std::optional<files::NamedFile> file_; // nullopt: stdout
};

// As above, but a file is opened at the first part. So a command that is refused before leaves an older file.
class LateOutput {
 public:
  explicit LateOutput(std::string path) : path_(std::move(path)) {}
  void write(std::string_view part) { opened().write(part); }
  void finish() { opened().finish(); }

 private:
  Output& opened() { return out_ ? *out_ : out_.emplace(path_); }

  std::string path_;
  std::optional<Output> out_;
};

// Writes the pieces in order, to stdout if `output` is "". Throws UsageError if it cannot write all of them, or
// must not replace the file.
void write_all(const std::vector<std::string>& pieces, const std::string& output);

} // namespace memtrace::cli
