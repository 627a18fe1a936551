// Purpose: finds memory that a rank allocated on the GPU of another rank.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/process/job_finding.h"

namespace memtrace::report {

// Takes one rank after the other, each while its analysis is open.
class WrongDevice {
 public:
  // `own`: the findings about this process. A GPU on which it has little more than a context is a
  // `device-context` there, and not a finding here.
  void add(ProcessAnalysis& analysis, const Findings& own);
  void add(WrongDevice&& others); // Adds ranks that were collected apart.

  // Appends the findings `wrong-device`: a rank has tensors on a GPU where another rank has most of its own.
  // The rank has most of its own on another GPU. One finding for each GPU and line of the program.
  void find(std::vector<JobFinding>& out) const;

 private:
  // What one rank has on one GPU.
  struct OnGpu {
    std::uint32_t rank = 0;
    replay::MemoryId memory = 0;
    std::int64_t tensors = 0; // at their peak
    std::int64_t live = 0;    // what the driver gave, at its peak
    std::int64_t shown = 0;   // what the GPU shows for this process; 0: not known
    bool home = false;        // the GPU with most of the rank's tensors
    bool context = false;     // another finding is about its context there
    std::string phase;
    std::string line; // that made most of its tensors there
    std::shared_ptr<const symbols::Site> site;
  };
  using OfGpu = std::vector<OnGpu>;

  static const OnGpu* owner_of(const OfGpu& ranks);
  static JobFinding finding_of(const OnGpu& owner, const std::vector<const OnGpu*>& strays);

  std::map<std::string, OfGpu> gpus_; // the key is the GPU's identity
};

} // namespace memtrace::report
