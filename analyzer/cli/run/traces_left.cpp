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
#include <optional>
#include <stdexcept>
#include <thread>

#include "analyzer/archive/pack_reader.h"
#include "analyzer/evidence/evidence.h"
#include "analyzer/evidence/watched_ends.h"
#include "analyzer/files/packed_files.h"
#include "analyzer/files/reading.h"
#include "analyzer/files/trace_copy.h"
#include "analyzer/job/shared_place.h"
#include "analyzer/wording/utf8.h"

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

// The packed file is read again and compared: it will be the only one. A process that still writes makes a
// difference, also one that this command cannot see.
std::string why_not_removable(const report::PackedJob& packed, const std::string& output,
                              const std::vector<report::TraceName>& traces) {
  if (packed.running != 0)
    return fmt::format("{} {} still running", packed.running,
                       packed.running == 1 ? "process is" : "processes are");
  if (!packed.all_exited && !std::all_of(traces.begin(), traces.end(), has_ended))
    return "a process may still write";
  const std::optional<std::string> cut = archive::open(output);
  if (!cut || !cut->empty()) return "it cannot be read";
  for (const auto* list : {&packed.of_processes, &packed.of_job})
    for (const auto& [path, name] : *list)
      if (!name.empty() && !files::PackedFiles::of_command().equals(fmt::format("{}/{}", output, name), path))
        return fmt::format("{} has changed since", path);
  return "";
}

bool has_trace(const fs::path& directory) {
  const std::vector<std::string> names = files::names_in(directory.string());
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return name.ends_with(".memtrace"); });
}

// True if there is no such file any more.
bool removed(const std::string& path) {
  return ::unlink(path.c_str()) == 0 || errno == ENOENT;
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

void remove_packed_traces(const report::PackedJob& packed, const std::string& output,
                          const std::vector<report::TraceName>& traces) {
  if (const std::string why = why_not_removable(packed, output, traces); !why.empty()) {
    std::fprintf(stderr, "memtrace: run: the traces stay beside the packed file: %s\n",
                 report::printable(why).c_str());
    return;
  }
  std::size_t stay = 0;
  for (const auto& [path, name] : packed.of_processes) stay += !removed(path);
  for (const auto& [path, name] : packed.of_job)
    if (!has_trace(fs::path(path).parent_path())) stay += !removed(path);
  if (stay != 0)
    std::fprintf(stderr, "memtrace: run: %zu %s of the packed traces cannot be removed: %s\n", stay,
                 stay == 1 ? "file" : "files", std::strerror(errno));
  for (const report::TraceName& trace : traces) ::rmdir(local_of(trace).c_str()); // fails if it has files
}

} // namespace memtrace::cli
