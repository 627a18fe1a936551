// Purpose: runs a traced process into a temporary folder, and reads the facts of its trace.
#include "analyzer/cli/doctor/traced_run.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "analyzer/decode/read_error.h"
#include "analyzer/trace/trace.h"

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

int run_traced(const std::vector<std::string>& command, const std::string& library, const fs::path& out,
               const std::vector<std::string>& kept) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (char** entry = environ; *entry != nullptr;) {
      const std::string name = std::string(*entry).substr(0, std::string(*entry).find('='));
      if (name.rfind("MEMTRACE", 0) == 0 && std::find(kept.begin(), kept.end(), name) == kept.end()) {
        ::unsetenv(name.c_str());
      } else {
        ++entry;
      }
    }
    ::setenv("LD_PRELOAD", library.c_str(), 1);
    ::setenv("MEMTRACE_OUT", out.c_str(), 1);
    ::setenv("MEMTRACE_MIN_PEAK", "0", 1);
    ::setenv("MEMTRACE_SKIP", "", 1);
    ::setenv("MEMTRACE_QUIET", "1", 1);
    if (std::freopen("/dev/null", "w", stdout) == nullptr || std::freopen("/dev/null", "w", stderr) == nullptr)
      ::_exit(126);
    std::vector<char*> argv;
    argv.reserve(command.size() + 1);
    for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

std::optional<trace::Facts> facts_in(const fs::path& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".memtrace") continue;
    try {
      return trace::Trace(entry.path().string()).facts();
    } catch (const trace::ReadError&) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

} // namespace memtrace::cli
