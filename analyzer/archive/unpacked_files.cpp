// Purpose: writes the files of a packed file into a directory.
#include "analyzer/archive/unpacked_files.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "analyzer/files/packed_files.h"

namespace memtrace::archive {
namespace {

[[noreturn]] void refuse(const std::string& path) {
  const bool exists = errno == EEXIST;
  throw std::runtime_error(path + ": cannot be written (" + std::strerror(errno) + "); " +
                           (exists ? "name another directory" : "name a directory that can be written"));
}

} // namespace

std::size_t write_files(const std::string& pack, const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    errno = error.value();
    refuse(directory);
  }
  std::vector<std::string> written;
  try {
    for (const std::string& name : files::PackedFiles::of_command().names(pack)) {
      const std::string path = fmt::format("{}/{}", directory, name);
      if (!files::PackedFiles::of_command().write(fmt::format("{}/{}", pack, name), path)) refuse(path);
      written.push_back(path);
    }
  } catch (const std::runtime_error&) {
    for (const std::string& path : written) ::unlink(path.c_str());
    throw;
  }
  return written.size();
}

} // namespace memtrace::archive
