// Purpose: reads an evidence file that the user gives: a pod, a job's accounting, a kernel's log.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "analyzer/evidence/evidence.h"

namespace memtrace::evidence {

// Thrown for a file of any other type. The message says what was expected.
class Unknown : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Reads `kubectl get pod -o json` or `kubectl get events -o json` (one object or a list), the output of
// `sacct`, a kernel's log, or a log of a manager (manager_log.h). The content decides the type. Throws Unknown.
void read_evidence(std::string_view text, double near_unix, Evidence& into);

} // namespace memtrace::evidence
