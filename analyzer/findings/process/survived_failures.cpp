// Purpose: finds allocations that failed and that the program survived.
#include "analyzer/findings/process/survived_failures.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <map>

#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

struct Survived {
  std::uint64_t number = 0;
  const trace::Failure* largest = nullptr;
};

// True if memory was short. Refused files of /dev/shm have a finding of their own: see across_processes.h.
bool is_lack_of_memory(const trace::Failure& failure) {
  return !failure.no_access && (failure.map_flags & MAP_HUGETLB) == 0;
}

Finding retried(const ProcessAnalysis& analysis, unsigned memory, const Survived& survived) {
  const trace::Failure& largest = *survived.largest;
  const bool device = memory != 0;
  Finding finding;
  finding.id = "allocation-retried";
  finding.memory = static_cast<replay::MemoryId>(memory);
  finding.bytes = static_cast<std::int64_t>(largest.asked);
  finding.certain = true;
  finding.site = largest.stack;
  std::string line = "a place without a stack";
  if (largest.stack != format::StackId{}) {
    line = analysis.symbolizer->site(largest.stack).line();
  }
  finding.title = fmt::format("{} {} failed on {} and the program went on: the largest of {} at {}",
                              survived.number, survived.number == 1 ? "allocation" : "allocations",
                              memory_name(finding.memory), sized(largest.asked), line);
  finding.evidence = {fmt::format("{} bytes asked at {:.1f} s, error {}, {} bytes live then", largest.asked,
                                  analysis.seconds(largest.stamp), largest.code, largest.live)};
  finding.sentences = {fmt::format("All allocations had {} at that time.", sized(largest.live))};
  finding.remedy =
      device ? "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or less memory at that line: each retry "
               "empties the cache of PyTorch's allocator, which costs time"
             : "less memory at that line, or a higher limit";
  return finding;
}

} // namespace

Findings find_survived(const ProcessAnalysis& analysis) {
  const trace::Failure* const fatal = analysis.death ? analysis.death->failure : nullptr;
  std::map<unsigned, Survived> of;
  for (const trace::Failure& failure : analysis.trace->samples().failures()) {
    if (!is_lack_of_memory(failure) || (analysis.kind == "worker" && failure.is_shm_full())) continue;
    if (fatal != nullptr && failure.stamp >= fatal->stamp) continue; // no program went on after it
    Survived& survived = of[failure.memory];
    survived.number += failure.times;
    if (survived.largest == nullptr || failure.asked > survived.largest->asked) survived.largest = &failure;
  }
  Findings out;
  for (const auto& [memory, survived] : of) out.push_back(retried(analysis, memory, survived));
  return out;
}

} // namespace memtrace::report
