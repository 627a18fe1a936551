// Purpose: runs a traced process into a temporary folder, and reads the facts of its trace.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/trace/process_facts.h"

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

// Returns the exit status of the command; -1: it did not start or a signal ended it. The trace goes to `out`.
// Of the user's MEMTRACE variables, only those in `kept` apply. The output of the command is discarded.
int run_traced(const std::vector<std::string>& command, const std::string& library,
               const std::filesystem::path& out, const std::vector<std::string>& kept = {});

// Returns the facts of the one trace in `folder`, or nullopt if no trace there can be read.
std::optional<trace::Facts> facts_in(const std::filesystem::path& folder);

} // namespace memtrace::cli
