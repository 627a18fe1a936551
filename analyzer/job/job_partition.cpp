// Purpose: tells the jobs apart whose traces lie in one directory.
#include "analyzer/job/job_partition.h"

#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "analyzer/files/warning.h"
#include "analyzer/job/process_order.h"
#include "analyzer/wording/labels.h"

namespace memtrace::report {
namespace {

// What the traces of one job say together. A job has one id, or several if each task of it founded one.
struct JobFacts {
  std::set<std::string> ids;
  double began = 0, ended = 0;    // Unix time in s, of the first and of the last record
  std::set<std::string> commands; // argv of the process that began first, for each id
  std::uint32_t world = 0;        // number of ranks; 0: unknown
  std::set<std::uint32_t> ranks;
};

double began_unix(const Process& process) {
  return static_cast<double>(process.facts.start_unix_ns) / 1e9;
}

void add(JobFacts& job, const Process& process) {
  const trace::Facts& facts = process.facts;
  if (job.ids.empty() || began_unix(process) < job.began) {
    job.began = began_unix(process);
    job.commands = {facts.argv};
  }
  job.ids.insert(facts.job);
  job.ended = std::max(job.ended, last_unix(process));
  if (facts.rank == trace::kNoRank) return;
  job.world = std::max(job.world, facts.world_size);
  job.ranks.insert(facts.rank);
}

template <class T>
bool share_one(const std::set<T>& a, const std::set<T>& b) {
  return std::any_of(a.begin(), a.end(), [&b](const T& one) { return b.contains(one); });
}

bool are_one(const JobFacts& a, const JobFacts& b) {
  if (a.ended < b.began || b.ended < a.began) return false;
  return share_one(a.commands, b.commands) ||
         (a.world > 1 && a.world == b.world && !share_one(a.ranks, b.ranks));
}

void join(JobFacts& job, const JobFacts& other) {
  job.ids.insert(other.ids.begin(), other.ids.end());
  job.began = std::min(job.began, other.began);
  job.ended = std::max(job.ended, other.ended);
  job.commands.insert(other.commands.begin(), other.commands.end());
  job.world = std::max(job.world, other.world);
  job.ranks.insert(other.ranks.begin(), other.ranks.end());
}

// Returns "2026-11-25 06:57:42 UTC".
std::string utc(double unix) {
  const auto seconds = static_cast<std::time_t>(unix);
  std::tm parts{};
  char text[64] = {};
  if (::gmtime_r(&seconds, &parts) == nullptr || std::strftime(text, sizeof text, "%F %T UTC", &parts) == 0)
    return "at an unknown time";
  return text;
}

// Returns the line about a job that is left out.
std::string line_about(const std::vector<const Process*>& job) {
  const Process& first = **std::min_element(job.begin(), job.end(), [](const Process* a, const Process* b) {
    return began_unix(*a) < began_unix(*b);
  });
  const std::string directory = std::filesystem::path(first.path).parent_path().string();
  const std::string more = job.size() == 1 ? "" : fmt::format(" and {} more", job.size() - 1);
  return fmt::format("{}: another job here is left out: {}, pid {}{}, began {}: memtrace report {}",
                     directory.empty() ? "." : directory, script(first.facts), first.facts.pid, more,
                     utc(began_unix(first)), first.path);
}

} // namespace

void number_jobs(std::vector<Process>& processes) {
  std::map<std::string, JobFacts> by_id;
  for (const Process& process : processes) add(by_id[process.facts.job], process);
  std::vector<JobFacts> jobs;
  for (auto& [id, job] : by_id) { // it may join several of those before
    for (std::size_t i = jobs.size(); i-- > 0;) {
      if (!are_one(job, jobs[i])) continue;
      join(job, jobs[i]);
      jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(i));
    }
    jobs.push_back(std::move(job));
  }
  std::map<std::string, std::size_t> numbers;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    for (const std::string& id : jobs[i].ids) numbers[id] = i;
  for (Process& process : processes) process.job = numbers.at(process.facts.job);
}

void leave_out_other_jobs(std::vector<Process>& processes) {
  const std::size_t shown = processes.front().job;
  const auto others = std::stable_partition(processes.begin(), processes.end(),
                                            [shown](const Process& process) { return process.job == shown; });
  std::map<std::size_t, std::vector<const Process*>> jobs;
  for (auto process = others; process != processes.end(); ++process) jobs[process->job].push_back(&*process);
  constexpr std::size_t kMostLines = 5;
  std::size_t lines = 0;
  for (const auto& [number, job] : jobs)
    if (++lines <= kMostLines) files::warn(line_about(job));
  if (lines > kMostLines) files::warn(fmt::format("{} more jobs here are left out", lines - kMostLines));
  processes.erase(others, processes.end());
}

} // namespace memtrace::report
