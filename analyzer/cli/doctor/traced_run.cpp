// Purpose: runs a traced process into a temporary folder, and reads the facts of its trace.
#include "analyzer/cli/doctor/traced_run.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "analyzer/decode/read_error.h"
#include "analyzer/files/reading.h"
#include "analyzer/trace/trace.h"

namespace memtrace::cli {

namespace fs = std::filesystem;

namespace {

constexpr unsigned kLongest = 30; // seconds; conda takes some to start a program
constexpr std::size_t kMostSaid = 4096;

void set_variables(const std::string& library, const fs::path& out, const std::vector<std::string>& kept) {
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
  ::setenv("MEMTRACE_SHARED", "off", 1); // the trace is read where it is asked for
  ::setenv("MEMTRACE_SKIP", "", 1);
}

[[noreturn]] void become(const std::vector<std::string>& command, int said) {
  if (said >= 0) ::dup2(said, STDERR_FILENO);
  if (said < 0) ::setenv("MEMTRACE_QUIET", "1", 1);
  if (std::freopen("/dev/null", "w", stdout) == nullptr ||
      (said < 0 && std::freopen("/dev/null", "w", stderr) == nullptr) ||
      std::freopen("/dev/null", "r", stdin) == nullptr)
    ::_exit(126);
  ::alarm(kLongest); // an exec keeps it
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

// Reads until the end, so that the command never waits for a full pipe.
std::string read_said(int from) {
  std::string text;
  char buffer[kMostSaid];
  for (ssize_t bytes = 0; (bytes = ::read(from, buffer, sizeof buffer)) > 0;)
    text.append(buffer, std::min(static_cast<std::size_t>(bytes), kMostSaid - text.size()));
  return text;
}

// Slurm makes a path of the first word, the name of the program.
std::string without_folder(const std::string& argv) {
  const std::size_t slash = argv.rfind('/', argv.find('\0'));
  return slash == std::string::npos ? argv : argv.substr(slash + 1);
}

std::vector<trace::Facts> all_facts_in(const fs::path& folder) {
  std::vector<trace::Facts> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".memtrace") continue;
    try {
      out.push_back(trace::Trace(entry.path().string()).facts());
    } catch (const trace::ReadError&) { // a process that could not write is not traced
    }
  }
  return out;
}

} // namespace

int run_traced(const std::vector<std::string>& command, const std::string& library, const fs::path& out,
               const std::vector<std::string>& kept, std::string* said) {
  int ends[2] = {-1, -1};
  if (said != nullptr && ::pipe(ends) != 0) return -1;
  const pid_t pid = ::fork();
  if (pid == 0) {
    set_variables(library, out, kept);
    become(command, ends[1]);
  }
  if (said != nullptr) {
    ::close(ends[1]);
    *said = read_said(ends[0]);
    ::close(ends[0]);
  }
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

std::optional<trace::Facts> facts_in(const fs::path& folder) {
  std::vector<trace::Facts> all = all_facts_in(folder);
  if (all.empty()) return std::nullopt;
  return std::move(all.front());
}

std::vector<std::string> probe_in(const fs::path& folder) {
  return {"sh", "-c", "echo $$ >\"$1/pid\"", "-", folder.string()};
}

std::optional<bool> is_traced_in(const fs::path& folder, const std::vector<std::string>& words) {
  const std::string text = files::read_found(folder / "pid", files::kMiB).value_or("");
  const auto pid = static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 10));
  if (pid == 0) return std::nullopt;
  std::string argv;
  for (const std::string& word : words) argv += (argv.empty() ? "" : std::string(1, '\0')) + word;
  const std::vector<trace::Facts> all = all_facts_in(folder);
  return std::any_of(all.begin(), all.end(), [&](const trace::Facts& facts) {
    return facts.pid == pid && (argv.empty() || without_folder(facts.argv).starts_with(argv));
  });
}

} // namespace memtrace::cli
