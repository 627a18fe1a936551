// Purpose: what happens to the files of a job after its end: they move to a shared file system, or are removed
// because a packed file has them.
#include "analyzer/cli/run/traces_left.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <thread>

#include "analyzer/evidence/evidence.h"
#include "analyzer/evidence/watched_ends.h"
#include "analyzer/files/reading.h"
#include "analyzer/files/trace_copy.h"
#include "analyzer/job/shared_place.h"

namespace memtrace::cli {
namespace {

namespace fs = std::filesystem;

// s: a process that is in another pid namespace, so that its pid tells nothing, writes to its trace twice a
// second.
constexpr double kQuiet = 2;
constexpr auto kBetweenLooks = std::chrono::milliseconds(100);

std::string local_of(const report::TraceName& name) {
  return fs::path(name.path).parent_path().string();
}

// Waits at most kQuiet.
bool has_ended(const report::TraceName& name) {
  if (::kill(name.pid, 0) == 0 || errno != ESRCH) return false;
  const double written = files::written_at(name.path);
  while (evidence::unix_now() < written + kQuiet) {
    std::this_thread::sleep_for(kBetweenLooks);
    if (files::written_at(name.path) != written) return false;
  }
  return true;
}

[[noreturn]] void refuse(const std::string& to, const std::string& from) {
  throw std::runtime_error(fmt::format("{}: {}; the traces stay in {}", to, std::strerror(errno), from));
}

// The files of the job itself.
void move_others(const std::string& local, const fs::path& to) {
  for (const std::string& name : files::names_in(local)) {
    const std::string from = (fs::path(local) / name).string();
    if (name == "job" || name.starts_with("job-")) files::copy_small_file(from, (to / name).string());
    if (name.ends_with(evidence::kEndsSuffix)) files::move_small_file(from, (to / name).string());
  }
}

} // namespace

bool has_traces_left(const JobPlace& place, std::uint64_t since) {
  return place.shared && !traces_since(place, since).empty();
}

void move_traces_left(const JobPlace& place, std::uint64_t since) {
  std::string done; // the local directory of the trace before
  for (const report::TraceName& name : traces_since(place, since)) {
    const std::string local = local_of(name), shared = report::shared_directory_of(local);
    if (shared.empty() || !has_ended(name)) continue;
    const fs::path to = fs::path(shared) / place.host;
    std::error_code error;
    fs::create_directories(to, error);
    if (!files::move_trace((fs::path(local) / name.stem).string(), (to / name.stem).string()))
      refuse(to.string(), local);
    if (local != done) move_others(local, to);
    done = local;
  }
}

void remove_packed_traces(const report::PackedJob& packed) {
  if (packed.running != 0) {
    std::fprintf(stderr, "memtrace: run: the traces stay beside the packed file: %zu %s still running\n",
                 packed.running, packed.running == 1 ? "process is" : "processes are");
    return;
  }
  std::set<fs::path> directories;
  std::error_code error; // a file that cannot be removed stays
  for (const std::string& path : packed.of_processes) {
    fs::remove(path, error);
    directories.insert(fs::path(path).parent_path());
  }
  const auto has_traces = [](const fs::path& directory) {
    const std::vector<std::string> names = files::names_in(directory.string());
    return std::any_of(names.begin(), names.end(),
                       [](const std::string& name) { return name.ends_with(".memtrace"); });
  };
  for (const std::string& path : packed.of_job)
    if (!has_traces(fs::path(path).parent_path())) fs::remove(path, error);
  for (const fs::path& directory : directories) ::rmdir(directory.c_str()); // fails if it has files
}

} // namespace memtrace::cli
