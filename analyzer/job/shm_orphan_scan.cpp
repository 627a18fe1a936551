// Purpose: finds the files in /dev/shm that the processes of a job left behind.
#include "analyzer/job/shm_orphan_scan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analyzer/evidence/evidence_store.h"
#include "analyzer/evidence/shm_orphans.h"
#include "analyzer/job/keep_evidence.h"
#include "analyzer/job/process_alive.h"
#include "analyzer/job/shm_creator.h"

namespace memtrace::report {
namespace {

using evidence::SharedFile;
using evidence::ShmLeftovers;
using evidence::ShmOrphan;

// False for exec too: the next trace of the pid says what became of the program.
bool is_over(const Process& process) {
  return process.end.how != "running" && process.end.how != "exec";
}

class Search {
 public:
  Search(std::vector<Process>& processes, trace::Progress& progress)
      : processes_(processes), progress_(progress), files_(evidence::shared_files()) {}

  void all() {
    for (Process& process : processes_)
      if (is_over(process)) one(process);
    settle();
  }

 private:
  using Claims = std::vector<std::pair<const SharedFile*, ShmOrphan>>;

  void one(Process& process) {
    const std::string store = evidence::store_of(process.path);
    if (process.evidence) {
      look(process, *process.evidence, store);
      process.end.left = process.evidence->left;
    } else {
      evidence::Evidence evidence = evidence::load(store).value_or(evidence::Evidence{});
      look(process, evidence, store);
      process.end.left = std::move(evidence.left);
    }
  }

  void look(const Process& process, evidence::Evidence& evidence, const std::string& store) {
    if (evidence.closed || evidence.left.looked || files_.empty() || !same_kernel(process.facts)) return;
    const Claims claims = claims_of(process);
    if (claims.empty() || job_goes_on(process)) return;
    ShmLeftovers& left = evidence.left;
    left.looked = evidence::unix_now();
    left.pids = own_pids();
    // From a pid namespace other than the first one, processes outside it are not visible.
    left.unseen = left.pids == kFirstPids ? living().unseen : evidence::kUnknown;
    for (const auto& [file, orphan] : claims)
      if (!living().held.contains(file->id) && there_.contains(file->id)) left.orphans.push_back(orphan);
    keep(evidence, store);
  }

  // Reads the trace again only if a file of its lifetime may be the process's own.
  Claims claims_of(const Process& process) {
    evidence::ShmCreator maker = lifetime_of(process.facts);
    const auto may_be = [&](const SharedFile& file) {
      return in_life(file, maker) && evidence::pid_in(file.name).value_or(maker.pid) == maker.pid;
    };
    if (std::none_of(files_.begin(), files_.end(), may_be)) return {};
    // What is found is kept for later reports, so a quick one reads all of the trace here.
    const bool whole = process.trace && process.trace->left_out() == 0;
    maker = whole ? creator_of(*process.trace)
                  : creator_of(trace::Trace(process.path, &progress_, trace::ReadExtent::all));
    Claims out;
    for (const SharedFile& file : files_)
      if (auto orphan = evidence::claim(file, maker)) out.emplace_back(&file, std::move(*orphan));
    return out;
  }

  // True if a process of the job still runs. A file may then wait for its reader, or for the process that
  // removes files.
  bool job_goes_on(const Process& process) {
    return std::any_of(processes_.begin(), processes_.end(),
                       [](const Process& other) { return other.end.how == "running"; }) ||
           (!process.facts.job.empty() && living().jobs.contains(process.facts.job));
  }

  const evidence::Living& living() {
    if (living_) return *living_;
    living_ = evidence::living();
    // A process that removes files may have ended during the scan. Its files are then gone, so list the files
    // again.
    for (const SharedFile& file : evidence::shared_files()) there_.insert(file.id);
    return *living_;
  }

  // Several processes may have mapped a file when it was created. The file belongs to the first of them.
  void settle() {
    // file -> time of the mapping, process
    std::map<std::pair<double, std::string>, std::pair<double, Process*>> makers;
    const auto since = [](const ShmOrphan& orphan) { return orphan.mapped.value_or(orphan.made); };
    for (Process& process : processes_) {
      for (const ShmOrphan& orphan : process.end.left.orphans) {
        const auto [at, fresh] = makers.try_emplace({orphan.made, orphan.name}, since(orphan), &process);
        if (!fresh && since(orphan) < at->second.first) at->second = {since(orphan), &process};
      }
    }
    for (Process& process : processes_)
      std::erase_if(process.end.left.orphans, [&](const ShmOrphan& orphan) {
        return makers.at({orphan.made, orphan.name}).second != &process;
      });
  }

  std::vector<Process>& processes_;
  trace::Progress& progress_;
  std::vector<SharedFile> files_;
  std::optional<evidence::Living> living_;
  std::set<evidence::FileId> there_; // files that exist after that scan
};

} // namespace

void find_left_behind(std::vector<Process>& processes, trace::Progress& progress) {
  Search(processes, progress).all();
}

} // namespace memtrace::report
