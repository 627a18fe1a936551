// Purpose: finds the libraries that belong to this command.
#include "analyzer/cli/common/install_paths.h"

#include <filesystem>

namespace memtrace::cli {
namespace {

namespace fs = std::filesystem;

fs::path beside(const std::string& place) {
  std::error_code error;
  return (fs::read_symlink("/proc/self/exe", error).parent_path() / place).lexically_normal();
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

} // namespace memtrace::cli
