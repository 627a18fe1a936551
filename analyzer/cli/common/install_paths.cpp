// Purpose: finds the libraries and the Python package that belong to this command.
#include "analyzer/cli/common/install_paths.h"

#include <sys/auxv.h>

#include <cstdlib>
#include <filesystem>

namespace memtrace::cli {
namespace {

namespace fs = std::filesystem;

// Returns the file of this command. A chroot may have no /proc: then it is the path that was started.
fs::path own_file() {
  std::error_code error;
  fs::path file = fs::read_symlink("/proc/self/exe", error);
  if (!error) return file;
  const auto* const started = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  return fs::canonical(started != nullptr ? started : "", error);
}

fs::path beside(const std::string& place) {
  return (own_file().parent_path() / place).lexically_normal();
}

} // namespace

std::string installed_library(const std::string& name) {
  std::error_code error;
  for (const char* folder : {"../lib/", "../preload/"}) {
    const fs::path library = beside(folder + name);
    if (fs::exists(library, error)) return library.string();
  }
  return {};
}

std::string expected_library(const std::string& name) {
  return beside("../lib/" + name).string();
}

std::string command_file() {
  return own_file().string();
}

std::string installed_package() {
  std::error_code error;
  for (const char* folder : {"../lib/memtrace/python", "../.."}) {
    const fs::path place = beside(folder);
    if (fs::exists(place / "memtrace" / "notebook" / "__main__.py", error)) return place.string();
  }
  return {};
}

void add_package_to_path() {
  const std::string folder = installed_package();
  if (folder.empty()) return;
  const char* const before = std::getenv("PYTHONPATH");
  const std::string list = before != nullptr && *before != '\0' ? folder + ":" + before : folder;
  ::setenv("PYTHONPATH", list.c_str(), 1);
}

} // namespace memtrace::cli
