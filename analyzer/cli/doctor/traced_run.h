// Purpose: what the doctor tries: a process that is traced into a folder of its own, and what its trace says.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/trace/process_facts.h"

namespace memtrace::cli {

class Folder { // in `parent`, gone with it; without a path where none can be made
 public:
  explicit Folder(const std::filesystem::path& parent);
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Its exit status, -1 when it did not start or was killed. Traced into `out`, by no setting of the user's but
// `kept` variables; what it prints is lost.
int run_traced(const std::vector<std::string>& command, const std::string& library,
               const std::filesystem::path& out, const std::vector<std::string>& kept = {});

// The facts of the one trace in `folder`; nothing when there is none that can be read.
std::optional<trace::Facts> facts_in(const std::filesystem::path& folder);

} // namespace memtrace::cli
