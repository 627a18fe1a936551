// Purpose: finds the failed allocation after which a process gave up.
#include "analyzer/job/fatal_failure.h"

namespace memtrace::report {
namespace {

// ns: a program that gives up because of the failure has ended by then
constexpr std::uint64_t kSoon = 10'000'000'000;

// ns between failures of one cause: what prints the error of a large one fails, too
constexpr std::uint64_t kTogether = 100'000'000;

} // namespace

bool ended_badly(const ProcessEnd& ending) {
  return ending.how == "oom_kill" || ending.how == "killed_by_manager" || ending.how == "signal" ||
         ending.how == "unknown" || (ending.how == "exit" && ending.code != 0);
}

const trace::Failure* fatal(const trace::Samples& samples, format::Stamp last, const ProcessEnd& ending,
                            bool worker) {
  const auto& failures = samples.failures();
  const bool may_be = ended_badly(ending) && !killed_for_memory(ending);
  if (!may_be || failures.empty() || failures.back().last + kSoon < last) return nullptr;
  const trace::Failure* out = &failures.back();
  if (out->memory != 0) return out; // of a device: PyTorch emptied its cache before it
  for (std::size_t i = failures.size() - 1; i > 0; --i) {
    const trace::Failure& before = failures[i - 1];
    if (before.last + kTogether < failures[i].stamp) break;
    if (before.memory == out->memory && before.asked >= out->asked) out = &before;
  }
  return worker && out->is_shm_full() ? nullptr : out;
}

} // namespace memtrace::report
