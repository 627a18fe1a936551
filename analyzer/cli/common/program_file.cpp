// Purpose: finds the file that a command starts.
#include "analyzer/cli/common/program_file.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "analyzer/files/reading.h"

namespace memtrace::cli {
namespace {

constexpr std::size_t kMostLine = 256; // the kernel reads so much of a script's first line

bool can_run(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

} // namespace

std::string found_in_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  const char* const path = std::getenv("PATH");
  // With a colon at the end, the list has an empty last entry, which is the current directory.
  std::istringstream folders(std::string(path != nullptr ? path : "/bin:/usr/bin") + ":");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string file = (folder.empty() ? "." : folder) + "/" + program;
    if (can_run(file)) return file;
  }
  return "";
}

std::string interpreter_of(const std::string& path) {
  std::string why;
  const int fd = files::open_to_read(path, files::Origin::system, why);
  if (fd < 0) return "";
  char first[kMostLine];
  const ssize_t bytes = ::read(fd, first, sizeof first);
  ::close(fd);
  const std::string head(first, bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  if (!head.starts_with("#!")) return "";
  std::istringstream words(head.substr(2, head.find('\n') - 2));
  std::string program, word;
  words >> program;
  if (!program.ends_with("/env")) return program;
  while (words >> word)
    if (!word.starts_with('-') && word.find('=') == std::string::npos) return word;
  return "";
}

bool clears_environment(const std::string& name) {
  return name == "sudo" || name == "doas" || name == "pkexec";
}

const std::vector<std::string>& launchers_to_elsewhere() {
  static const std::vector<std::string> names{"docker",    "podman",  "nerdctl",    "kubectl", "singularity",
                                              "apptainer", "enroot",  "ssh",        "chroot",  "nsenter",
                                              "bwrap",     "flatpak", "systemd-run"};
  return names;
}

bool gains_rights(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return false;
  return ((status.st_mode & S_ISUID) != 0 && status.st_uid != ::geteuid()) ||
         ((status.st_mode & S_ISGID) != 0 && status.st_gid != ::getegid()) ||
         (::geteuid() != 0 && ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0);
}

} // namespace memtrace::cli
