// Purpose: the answer of `memtrace doctor` in one line, from its checks.
#include "analyzer/cli/doctor/verdict.h"

#include <algorithm>

namespace memtrace::cli {
namespace {

const Check* check_named(const std::vector<Check>& checks, const char* what) {
  const auto at =
      std::find_if(checks.begin(), checks.end(), [what](const Check& check) { return check.what == what; });
  return at == checks.end() ? nullptr : &*at;
}

std::string python_stacks(const std::vector<Check>& checks) {
  const Check* const first = check_named(checks, "Python"); // of python3, which most programs use
  return first != nullptr && first->works ? "yes" : "no";
}

// Hooks record device memory wherever a driver works, with or without CUPTI.
std::string gpu(const std::vector<Check>& checks) {
  const Check* const driver = check_named(checks, "driver");
  if (driver == nullptr) return "not tried";
  if (driver->works) return "yes";
  return driver->text.find("no NVIDIA driver") != std::string::npos ? "no (no NVIDIA driver)"
                                                                    : "no (the driver found no GPU)";
}

} // namespace

Verdict verdict_of(const std::vector<Check>& checks) {
  const Check* const tracing = check_named(checks, "tracing");
  if (tracing == nullptr || !tracing->works)
    return {false, "memtrace cannot record programs here: " + (tracing != nullptr ? tracing->text : "")};
  return {true, "memtrace can record programs here: host memory yes, Python stacks " + python_stacks(checks) +
                    ", GPU " + gpu(checks)};
}

} // namespace memtrace::cli
