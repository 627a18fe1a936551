// Purpose: the folders of the doctor's tries, and the directory in which a job that is started here is
// recorded.
#include "analyzer/cli/doctor/scratch_folder.h"

#include <cstdlib>

namespace memtrace::cli {

namespace fs = std::filesystem;

Folder::Folder(const fs::path& parent) {
  std::string name = (parent / "memtrace-doctor-XXXXXX").string();
  if (::mkdtemp(name.data()) != nullptr) path_ = name;
}

Folder::~Folder() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
}

std::string wanted_directory() {
  const char* const asked = std::getenv("MEMTRACE_OUT");
  std::error_code error;
  return fs::absolute(asked != nullptr && *asked != '\0' ? asked : "memtrace-out/%j", error).string();
}

fs::path place_of_traces() {
  std::string pattern = wanted_directory();
  pattern = pattern.substr(0, pattern.find('%'));
  std::error_code error;
  fs::path place = pattern;
  while (place.has_relative_path() && !fs::is_directory(place, error)) place = place.parent_path();
  return place;
}

fs::path temporary_place() {
  const char* const named = std::getenv("TMPDIR");
  fs::path first = named != nullptr && *named != '\0' ? named : "/tmp";
  for (const fs::path& place : {first, fs::path("/tmp"), place_of_traces(), fs::path("/dev/shm")})
    if (const Folder folder(place); !folder.path().empty()) return place;
  return first;
}

} // namespace memtrace::cli
