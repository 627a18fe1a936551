// Purpose: finds memory that several processes of a job hold together: batches made ahead, the same data in
// each worker or rank.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/process/job_finding.h"
#include "analyzer/findings/process/rank_copies.h"
#include "analyzer/findings/process/resident_memory.h"
#include "analyzer/findings/process/wrong_device.h"
#include "analyzer/passes/batch_span.h"

namespace memtrace::report {

// Takes one process after the other, each while its analysis is open.
class JobFindings {
 public:
  // `own`: the findings about this process. `workers`: true if the job has workers. Only then is the pass for
  // the flows of shared memory worth its time.
  void add(ProcessAnalysis& analysis, const Findings& own, bool workers);
  // Adds processes that were collected apart: as if each had been added here, in their order.
  void add(JobFindings&& others);

  // Returns six kinds of findings. `shm-full`, first: /dev/shm had no room for a file of a worker, and the
  // worker did not die of it. `loader-prefetch`, only without it: bytes that workers had put into shared memory
  // and their parent had not yet freed. They took 64 MiB and a fifth of the parent's peak, or half of /dev/shm.
  // `worker-copies`: at least two workers of one parent hold blocks of one place in the program at the end of
  // their batches. Of these, they held three fifths since the middle: less would be a leak. Each worker made
  // them itself: at least 32 MiB, and about equally much in each. `copy-on-write-growth`: see find_copied().
  // `rank-copies`: see RankCopies. `wrong-device`: see WrongDevice.
  std::vector<JobFinding> find() const;

 private:
  struct SitePlace { // a place in the program
    std::string title;
    std::string caller;
    std::uint64_t bytes = 0;
    std::uint64_t blocks = 0;
    std::shared_ptr<const symbols::Site> site;
  };
  struct RefusedFile { // the largest file that found no room
    std::uint64_t bytes = 0;
    std::string line; // "" without a stack
    std::shared_ptr<const symbols::Site> site;
  };
  struct SiteFlow {
    format::Stamp stamp;
    std::int64_t bytes; // negative: freed
  };
  struct SiblingFlows { // of the workers of one process
    std::vector<SiteFlow> flows;
    std::map<std::string, std::vector<SitePlace>> kept; // by place, one entry for each worker that has it
    std::vector<OfParent> inherited;                    // each worker's share of the pages that it got by fork
    RefusedFile refused;
    std::uint64_t refusals = 0; // files of all workers that found no room
    std::size_t workers = 0;
    std::int64_t parents_peak = 0;
    std::uint64_t shm_size = 0;
    std::shared_ptr<const symbols::Site> site; // the site where a worker made its shared blocks
    bool has_parent = false;
    bool forked = true; // false: a worker has no pages of that process
    bool whole = true;
    void add(SiblingFlows&& others);
  };

  void add_worker(ProcessAnalysis& analysis);
  static void add_kept(ProcessAnalysis& analysis, SiblingFlows& family, const replay::BatchSpan& batches);
  void add_parent(ProcessAnalysis& analysis);
  static void add_refused(ProcessAnalysis& analysis, SiblingFlows& family);
  static JobFinding shm_full_finding(const SiblingFlows& family);
  struct Ahead { // the most that was in shared memory at once
    std::int64_t bytes = 0;
    std::int64_t largest = 0; // block size that has most of these bytes
    std::int64_t blocks = 0;  // blocks of that size
  };
  static Ahead measure_ahead(const SiblingFlows& family);
  static JobFinding prefetch_finding(const SiblingFlows& family, const Ahead& ahead);
  static void prefetch(const SiblingFlows& family, std::vector<JobFinding>& out);
  static void copies(const SiblingFlows& family, std::vector<JobFinding>& out);

  // By host and pid of the process whose loader started the workers. A forkserver is the parent of its workers,
  // but not the process that takes their batches.
  std::map<std::pair<std::string, std::uint32_t>, SiblingFlows> families_;
  RankCopies rank_copies_;
  WrongDevice wrong_device_;
};

} // namespace memtrace::report
