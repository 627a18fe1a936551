// Purpose: what several processes of a job hold together: batches made ahead, the same data in each worker.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"
#include "analyzer/findings/process/resident_memory.h"

namespace memtrace::report {

// Its site holds its names itself: the analysis is gone by then.
struct JobFinding {
  Finding finding;
  std::shared_ptr<const symbols::Site> site; // null: none
};

// Takes one process after the other, each while its analysis is open.
class JobFindings {
 public:
  // `workers`: the job has some, so that the flows of shared memory are worth a pass.
  void add(ProcessAnalysis& analysis, bool workers);

  // `loader-prefetch`: what workers had put into shared memory and their parent had not yet given back took 64
  // MiB and a fifth of the parent's peak, or half of /dev/shm. `worker-copies`: two or more workers of one
  // parent hold blocks of one place in the program for most of their time, 32 MiB each at least and as much in
  // each, which they made themselves. `copy-on-write-growth`: see find_copied().
  std::vector<JobFinding> find() const;

 private:
  struct SitePlace { // in the program
    std::string title;
    std::string caller;
    std::uint64_t bytes = 0;
    std::uint64_t blocks = 0;
    std::shared_ptr<const symbols::Site> site;
  };
  struct SiteFlow {
    format::Stamp stamp;
    std::int64_t bytes; // below 0: gone
  };
  struct SiblingFlows { // by the parent's pid
    std::vector<SiteFlow> flows;
    std::map<std::string, std::vector<SitePlace>> kept; // by site, one for each worker that has it
    std::vector<OfParent> forked;                   // what each worker has of the parent's pages
    std::size_t workers = 0;
    std::int64_t parents_peak = 0;
    std::uint64_t shm_size = 0;
    std::shared_ptr<const symbols::Site> site; // where a worker made what it shared
    bool whole = true;
  };

  void add_worker(ProcessAnalysis& analysis);
  void add_parent(ProcessAnalysis& analysis);
  struct Ahead { // the most that lay in shared memory at once
    std::int64_t bytes = 0;
    std::int64_t largest = 0; // bytes of the blocks of the size that has most of it
    std::int64_t blocks = 0;  // of that size
  };
  static Ahead measure_ahead(const SiblingFlows& family);
  static JobFinding prefetch_finding(const SiblingFlows& family, const Ahead& ahead);
  static void prefetch(const SiblingFlows& family, std::vector<JobFinding>& out);
  static void copies(const SiblingFlows& family, std::vector<JobFinding>& out);

  std::map<std::uint32_t, SiblingFlows> families_;
};

} // namespace memtrace::report
