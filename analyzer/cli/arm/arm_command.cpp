// Purpose: `memtrace arm`: calls armed processes, which then begin to record.
#include "analyzer/cli/arm/arm_command.h"

#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include "analyzer/cli/arm/armed_process.h"
#include "analyzer/cli/common/output.h"
#include "analyzer/job/shared_place.h"
#include "analyzer/job/usage_error.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::cli {
namespace {

namespace fs = std::filesystem;

using format::ArmedState;

constexpr auto kBetweenLooks = std::chrono::milliseconds(20);
constexpr std::uint32_t kNoRank = ~std::uint32_t{0};

// Returns the directory of the job's traces: as given, or below memtrace-out.
std::string directory_of(const std::string& job) {
  std::error_code error;
  const auto exists = [&](const std::string& path) {
    return fs::is_directory(path, error) || !report::local_directories(path).empty();
  };
  if (exists(job)) return job;
  const fs::path below = fs::path("memtrace-out") / job;
  if (fs::path(job).is_relative() && exists(below.string())) return below.string();
  throw report::UsageError(job +
                           ": no such job here or in memtrace-out; name the directory of its traces, which "
                           "exists once a process of the job holds MEMTRACE_MIN_PEAK");
}

ArmedProcess process_of(std::uint32_t pid) {
  const std::string path = armed_file_of(pid);
  if (path.empty())
    throw report::UsageError(fmt::format(
        "pid {}: not armed: it does not run, is of another user, holds less than MEMTRACE_MIN_PEAK, or was "
        "started without MEMTRACE=armed",
        pid));
  auto process = armed_process(path);
  if (!process)
    throw report::UsageError(report::printable(path) +
                             ": cannot be read and written by this user, or is damaged");
  return *std::move(process);
}

std::vector<ArmedProcess> wanted(const ArmArguments& arguments) {
  if (arguments.pid) return {process_of(*arguments.pid)};
  const std::string directory = directory_of(*arguments.job);
  std::vector<ArmedProcess> out = armed_in(directory);
  if (arguments.rank)
    std::erase_if(out, [&](const ArmedProcess& one) { return one.file.rank != *arguments.rank; });
  if (out.empty())
    throw report::UsageError(report::printable(directory) + ": no armed process" +
                             (arguments.rank ? fmt::format(" of rank {}", *arguments.rank) : "") +
                             "; its file is there while it runs and holds MEMTRACE_MIN_PEAK");
  return out;
}

std::string name_of(const format::ArmedFile& file) {
  return file.rank == kNoRank ? fmt::format("pid {}", file.pid)
                              : fmt::format("rank {} (pid {})", file.rank, file.pid);
}

std::string answer(const ArmedProcess& process, const ArmArguments& arguments, bool called, bool before) {
  const auto now = armed_process(process.path);
  if (!now) return "has ended";
  const std::string local = fs::path(process.path).parent_path(), shared = report::shared_directory_of(local);
  const std::string trace = fs::path(shared.empty() ? local : shared) / report::printable(now->file.trace);
  switch (static_cast<ArmedState>(now->file.state)) {
    case ArmedState::recording:
      return fmt::format("{} {}", before ? "records already, to" : "records to", trace);
    case ArmedState::stopped:
      return "has recorded its steps, to " + trace + "; a process records once";
    case ArmedState::failed:
      return "cannot write a trace: it has printed the reason";
    default:
      break;
  }
  if (!called) return "cannot be called: its file cannot be written";
  return fmt::format(
      "did not answer within {} s: it allocates nothing, or was killed. It held {} when last seen",
      arguments.wait, report::size(static_cast<std::int64_t>(now->file.live)));
}

bool waits(const ArmedProcess& process) {
  return state_of(process) == ArmedState::armed;
}

} // namespace

int arm_command(const ArmArguments& arguments) {
  const std::vector<ArmedProcess> processes = wanted(arguments);
  std::vector<bool> called, before;
  for (const ArmedProcess& process : processes) {
    before.push_back(!waits(process));
    called.push_back(before.back() || call(process, arguments.steps));
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(arguments.wait);
  int status = 0;
  std::string out;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    while (called[i] && waits(processes[i]) && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(kBetweenLooks);
    if (state_of(processes[i]) != ArmedState::recording) status = 1;
    out += fmt::format("{} {}\n", name_of(processes[i].file),
                       answer(processes[i], arguments, called[i], before[i]));
  }
  write_all({out}, "");
  return status;
}

} // namespace memtrace::cli
