// Purpose: follows the processes of a job, and spends at most a share of a core on it.
#include "analyzer/live/live_job.h"

#include <time.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "analyzer/files/reading.h"

namespace memtrace::live {
namespace {

namespace fs = std::filesystem;

constexpr double kLookForNew = 5;   // seconds between two looks into the directories
constexpr double kMostCredit = 0.1; // seconds of CPU

double seconds_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

} // namespace

LiveJob::LiveJob(std::vector<std::string> files, bool grows) : files_(std::move(files)) {
  for (const std::string& file : files_) all_.push_back(std::make_unique<LiveProcess>(file));
  if (!grows) return;
  std::set<std::string> directories;
  for (const std::string& file : files_) directories.insert(fs::path(file).parent_path().string());
  directories_.assign(directories.begin(), directories.end());
}

void LiveJob::find_new() {
  const std::set<std::string> known(files_.begin(), files_.end());
  for (const std::string& directory : directories_) {
    for (const std::string& name : files::names_in(directory.empty() ? "." : directory)) {
      const std::string path = (fs::path(directory) / name).string();
      if (!name.ends_with(".memtrace") || known.contains(path)) continue;
      files_.push_back(path);
      all_.push_back(std::make_unique<LiveProcess>(path));
    }
  }
}

bool LiveJob::is_due(const LiveProcess& process, double now, double interval) const {
  if (process.is_over()) return false;
  if (process.read_at() == 0) return true;
  const double age = now - process.read_at();
  return age >= kOldest || (age >= 0.9 * interval && credit_ >= 0);
}

void LiveJob::read(LiveProcess& process, bool counts) {
  const double before = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  process.refresh();
  if (counts) credit_ -= seconds_of(CLOCK_PROCESS_CPUTIME_ID) - before;
}

void LiveJob::refresh(std::size_t chosen, double interval) {
  const double now = seconds_of(CLOCK_MONOTONIC);
  if (earned_ != 0) credit_ = std::min(credit_ + kShare * (now - earned_), kMostCredit);
  earned_ = now;
  if (now - looked_ >= kLookForNew) {
    find_new();
    looked_ = now;
  }
  std::vector<LiveProcess*> order;
  for (const auto& process : all_) order.push_back(process.get());
  const std::string path = chosen < shown_.size() ? shown_[chosen].path : "";
  std::stable_sort(order.begin(), order.end(), [&](const LiveProcess* a, const LiveProcess* b) {
    const bool a_first = a->now().path == path, b_first = b->now().path == path;
    return a_first != b_first ? a_first : a->read_at() < b->read_at();
  });
  for (LiveProcess* const process : order)
    if (is_due(*process, now, interval)) read(*process, process->read_at() != 0);
  show();
}

// Shows the job of the process that began last, as a report reads the newest job.
void LiveJob::show() {
  const double now = seconds_of(CLOCK_MONOTONIC);
  std::string newest;
  std::uint64_t latest = 0;
  for (const auto& process : all_) {
    const std::uint64_t start = process->start_unix_ns();
    if (process->now().error.empty() && start >= latest) {
      latest = start;
      newest = process->now().job;
    }
  }
  shown_.clear();
  other_jobs_ = 0;
  for (const auto& process : all_) {
    const ProcessNow& one = process->now();
    if (!one.error.empty() && all_.size() > 1) continue; // a report leaves it out, too
    if (one.error.empty() && one.job != newest) {
      ++other_jobs_;
      continue;
    }
    if (one.replaced && all_.size() > 1) continue;
    shown_.push_back(one);
    shown_.back().age = std::max(0.0, now - process->read_at());
  }
  if (shown_.empty())
    for (const auto& process : all_) shown_.push_back(process->now());
  predict(shown_);
}

} // namespace memtrace::live
