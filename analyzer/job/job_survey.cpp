// Purpose: surveys the processes of a job: the role of each, its end, and outside evidence about its end.
#include "analyzer/job/job_survey.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "analyzer/decode/read_error.h"
#include "analyzer/evidence/evidence_store.h"
#include "analyzer/evidence/sources/evidence_file.h"
#include "analyzer/files/in_order.h"
#include "analyzer/files/read_budget.h"
#include "analyzer/files/reading.h"
#include "analyzer/files/warning.h"
#include "analyzer/job/evidence_query.h"
#include "analyzer/job/fatal_failure.h"
#include "analyzer/job/job_partition.h"
#include "analyzer/job/keep_evidence.h"
#include "analyzer/job/launcher_kills.h"
#include "analyzer/job/process_order.h"
#include "analyzer/job/shm_orphan_scan.h"
#include "analyzer/job/usage_error.h"
#include "analyzer/job/worker_parent.h"
#include "analyzer/passes/touched_peak.h"
#include "analyzer/trace/coordinates.h"
#include "analyzer/wording/newer_parts.h"

namespace memtrace::report {
namespace {

// True if a process above the parent left a trace. The parent did not if its name is skipped or it was small.
bool has_traced_ancestor(const trace::Facts& facts, const std::set<std::uint32_t>& pids) {
  std::istringstream ancestors(facts.note("ancestors").value_or(""));
  for (std::uint32_t pid = 0; ancestors >> pid;)
    if (pids.contains(pid)) return true;
  return false;
}

// Returns the role of a process in its job, as far as its trace and the other traces show it.
std::string kind_of(const trace::Facts& facts, const std::set<std::uint32_t>& pids) {
  if (const auto said = facts.note("kind")) {
    for (const char* known : {"main", "worker", "rank", "child"}) {
      if (*said == known) return known;
    }
  }
  if (facts.rank != trace::kNoRank && facts.world_size > 1) return "rank";
  if (is_worker(facts)) return "worker";
  if (facts.fork || pids.contains(facts.ppid) || has_traced_ancestor(facts, pids) || is_spawned(facts) ||
      is_of_forkserver(facts))
    return "child";
  return "main";
}

// Queries outside evidence only once: it disappears, and a later report must say the same.
void ask(Process& process, const trace::Trace& trace, evidence::Evidence evidence) {
  if (!evidence.closed && !evidence.asked && collect_evidence(trace, evidence))
    keep(evidence, evidence::store_of(process.path));
  process.evidence = std::make_unique<evidence::Evidence>(std::move(evidence));
  process.subject = subject_of(trace);
  process.subject.evidence = process.evidence.get();
}

void warn_of_newer_parts(const trace::Trace& trace, trace::Progress& progress) {
  const std::string line = newer_parts_line(trace.newer());
  if (line.empty()) return;
  progress.clear();
  files::warn(trace.path() + ": " + line);
}

// True if one more trace may stay open for the command, which then need not read it again. An open trace takes
// memory for its definitions, and up to five descriptors. A process has 1,024 descriptors by default.
bool may_stay_open(std::size_t open) {
  constexpr std::size_t kMostOpen = 16;
  constexpr std::uint64_t kMostHeld = 256 * files::kMiB;
  return open == 0 || (open < kMostOpen && files::Budget::of_command().held() < kMostHeld);
}

// A trace as the survey opened it. `trace` is null if it cannot be read.
struct Opened {
  std::unique_ptr<trace::Trace> trace;
  Process process;
  evidence::Evidence stored;
  std::string fault; // why it cannot be read
};

Opened open(const std::string& path, trace::Progress& progress) {
  Opened out;
  out.trace = std::make_unique<trace::Trace>(path, &progress);
  const trace::Trace& trace = *out.trace;
  Process& process = out.process;
  process.path = path;
  process.facts = trace.facts();
  process.samples = trace.samples();
  process.directory = own_group(trace);
  out.stored = evidence::load(evidence::store_of(path)).value_or(evidence::Evidence{});
  process.end = read_end(trace, out.stored.closed ? std::optional(out.stored.running) : std::nullopt);
  process.failed =
      fatal(trace.samples(), process.facts.last_stamp, process.end, is_worker(process.facts)) != nullptr;
  return out;
}

// Adds a process. Its trace stays open if it may.
void add(Opened opened, std::vector<Process>& processes, trace::Progress& progress) {
  warn_of_newer_parts(*opened.trace, progress);
  const auto open = std::count_if(processes.begin(), processes.end(),
                                  [](const Process& process) { return process.trace != nullptr; });
  if (opened.process.end.how == "unknown") ask(opened.process, *opened.trace, std::move(opened.stored));
  processes.push_back(std::move(opened.process));
  if (may_stay_open(static_cast<std::size_t>(open))) processes.back().trace = std::move(opened.trace);
}

// Opens all traces. Warns of one that cannot be read, unless it is the only one.
std::vector<Process> open_all(const std::vector<std::string>& files, trace::Progress& progress) {
  std::vector<Process> processes;
  if (files.size() == 1) {
    add(open(files.front(), progress), processes, progress);
    return processes;
  }
  std::size_t looked = 0;
  const auto count = [&] { progress.on(fmt::format("looking at trace {} of {}", ++looked, files.size())); };
  count();
  files::in_order<Opened>(
      files.size(),
      [&](std::size_t i) {
        try {
          return open(files[i], progress);
        } catch (const trace::ReadError& fault) {
          Opened out;
          out.fault = fault.what();
          return out;
        } catch (const files::OverBudget&) {
          Opened out;
          out.fault = files::Budget::of_command().refusal();
          return out;
        }
      },
      [&](std::size_t i, Opened opened) {
        if (i + 1 < files.size()) count();
        if (opened.trace) return add(std::move(opened), processes, progress);
        progress.clear();
        files::warn(opened.fault);
      });
  return processes;
}

constexpr std::uint64_t kMostEvidence = 256 * files::kMiB; // bytes of a file: a kernel's log of some weeks

std::string contents(const std::string& path) {
  std::string why;
  std::optional<std::string> text = files::read(path, files::Origin::named, kMostEvidence, why);
  if (!text) throw UsageError(path + ": cannot be read (" + why + "); name a file or a pipe with --evidence");
  return *std::move(text);
}

// Adds each file to the evidence of every process that it may be about, and saves it.
void bring(const std::vector<std::string>& files, std::vector<Process>& processes) {
  for (const std::string& path : files) {
    const std::string text = contents(path);
    for (Process& process : processes) {
      evidence::Evidence found;
      const double near = static_cast<double>(process.facts.start_unix_ns) / 1e9;
      try {
        evidence::read_evidence(text, near, found);
      } catch (const evidence::Unknown& unknown) {
        throw UsageError(path + ": " + unknown.what());
      }
      if (!process.evidence) continue;
      evidence::add(*process.evidence, found, path.substr(path.rfind('/') + 1));
      keep(*process.evidence, evidence::store_of(process.path));
    }
  }
}

std::string stem_of(const std::string& path) {
  return std::filesystem::path(path).stem().string();
}

// Sets the ends that `memtrace run` saw, for processes whose traces do not say how they ended.
void apply_watched_ends(std::vector<Process>& processes) {
  std::map<std::string, std::vector<evidence::End>> by_directory;
  for (Process& process : processes) {
    if (process.end.how != "unknown") continue;
    const std::string directory = std::filesystem::path(process.path).parent_path().string();
    const auto [at, fresh] = by_directory.try_emplace(directory);
    if (fresh) at->second = evidence::read_ends(directory.empty() ? "." : directory);
    if (const evidence::End* const end = evidence::end_of(at->second, stem_of(process.path)))
      process.watched = *end;
  }
}

// True if the OOM killer may have killed the process. It sends only SIGKILL.
bool may_be_killed(const Process& process) {
  return process.evidence &&
         (!process.watched || (process.watched->signal && process.watched->code == SIGKILL));
}

// True if a manager may have killed the process. Some send SIGTERM first.
bool may_be_ended_by_manager(const Process& process) {
  return process.evidence && may_be_of_manager(process.end) && (!process.watched || process.watched->signal);
}

// Returns "rank 3" or "pid 7081" for a process of the same host, or "" for 0.
std::string failed_name(const std::vector<Process>& processes, const Process& killed, std::uint64_t failed) {
  if (failed == 0) return "";
  for (const Process& process : processes)
    if (process.facts.pid == failed && process.facts.host == killed.facts.host) return short_name(process);
  return fmt::format("pid {}", failed);
}

// Sets whether the processes of a job ran on one host, so that a pid names one of them.
void note_hosts(std::vector<Process>& processes) {
  std::map<std::size_t, std::set<std::string>> hosts; // of each job
  for (const Process& process : processes) hosts[process.job].insert(process.facts.host);
  for (Process& process : processes) process.subject.only_host = hosts[process.job].size() == 1;
}

void match_manager_kills(std::vector<Process>& processes) {
  std::vector<evidence::Subject> subjects;
  std::vector<Process*> of;
  for (Process& process : processes) {
    if (!may_be_ended_by_manager(process)) continue;
    subjects.push_back(process.subject);
    of.push_back(&process);
  }
  const std::vector<evidence::ManagerWitness> witnesses = evidence::match_managers(subjects);
  for (std::size_t i = 0; i < of.size(); ++i) {
    const std::uint64_t failed = witnesses[i].kill != nullptr ? witnesses[i].kill->failed : 0;
    apply_evidence(of[i]->end, witnesses[i], failed_name(processes, *of[i], failed));
  }
}

// Matches all processes together, because a kill is about one of them.
void match_kills(std::vector<Process>& processes) {
  std::vector<evidence::Subject> subjects;
  std::vector<Process*> of;
  for (Process& process : processes) {
    if (!may_be_killed(process)) continue;
    subjects.push_back(process.subject);
    of.push_back(&process);
  }
  const std::vector<evidence::Witness> witnesses = evidence::match(subjects);
  for (std::size_t i = 0; i < of.size(); ++i) apply_evidence(of[i]->end, witnesses[i], *of[i]->evidence);
  match_manager_kills(processes);
  for (Process& process : processes)
    if (process.watched) apply_evidence(process.end, *process.watched);
  find_launcher_kills(processes);
}

// A sample of RSS does not measure a quick process, and that of a forked process has the pages of its parent.
void measure_peaks(std::vector<Process>& processes, trace::Progress& progress) {
  const std::vector<Process*> tied = tied_for_lead(processes);
  files::in_order<std::optional<std::uint64_t>>(
      tied.size(),
      [&](std::size_t i) -> std::optional<std::uint64_t> {
        try {
          if (tied[i]->trace) return replay::touched_peak(*tied[i]->trace);
          return replay::touched_peak(trace::Trace(tied[i]->path, &progress));
        } catch (const trace::ReadError&) { // it is gone since it was looked at
        } catch (const files::OverBudget&) {
        }
        return std::nullopt;
      },
      [&](std::size_t i, std::optional<std::uint64_t> peak) {
        progress.on(fmt::format("comparing the peaks: process {} of {}", i + 1, tied.size()));
        tied[i]->peak = peak;
      });
}

// One line for the job: its ranks have the same grid.
void warn_of_grid(const std::vector<Process>& processes, trace::Progress& progress) {
  for (const Process& process : processes) {
    const std::string line = trace::grid_misfit(process.facts);
    if (line.empty()) continue;
    progress.clear();
    files::warn(line);
    return;
  }
}

} // namespace

std::vector<Process> survey(const std::vector<std::string>& files, const std::vector<std::string>& brought,
                            trace::Progress& progress) {
  std::vector<Process> processes = open_all(files, progress);
  if (processes.empty())
    throw UsageError(files.front() + ": neither this nor any other trace of its directory can be read");
  number_jobs(processes);
  std::map<std::size_t, std::set<std::uint32_t>> pids; // of each job
  for (const Process& process : processes) pids[process.job].insert(process.facts.pid);
  for (Process& process : processes) process.kind = kind_of(process.facts, pids[process.job]);
  bring(brought, processes);
  find_left_behind(processes, progress);
  apply_watched_ends(processes);
  note_hosts(processes);
  match_kills(processes);
  measure_peaks(processes, progress);
  put_leading_first(processes);
  leave_out_other_jobs(processes);
  warn_of_grid(processes, progress);
  return processes;
}

} // namespace memtrace::report
