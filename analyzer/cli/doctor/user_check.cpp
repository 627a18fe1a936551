// Purpose: checks whether a process of a user without an account is traced.
#include "analyzer/cli/doctor/user_check.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "analyzer/cli/doctor/scratch_folder.h"
#include "analyzer/cli/doctor/traced_run.h"

namespace memtrace::cli {

namespace fs = std::filesystem;

std::vector<Check> check_user(const std::string& library) {
  const Folder folder(temporary_place());
  if (library.empty() || folder.path().empty()) return {}; // the check of tracing reports it
  const bool has_name = run_traced({"id", "-un"}, library, folder.path()) == 0;
  const bool traced = facts_in(folder.path()).has_value();
  const char* const home = std::getenv("HOME");
  std::error_code error;
  const bool has_home = home != nullptr && *home != '\0' && fs::is_directory(home, error);
  if (has_name && has_home) return {};
  const std::string lacks = has_name ? "without HOME" : has_home ? "without a name" : "without a name and HOME";
  return {{"user", traced,
           fmt::format("{}, {}: {}", ::geteuid(), lacks,
                       traced ? "memtrace needs neither" : "a process of this user left no trace")}};
}

} // namespace memtrace::cli
