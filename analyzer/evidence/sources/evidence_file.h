// Purpose: a file that somebody brought: a pod, a job's accounting, a kernel's log.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "analyzer/evidence/evidence.h"

namespace memtrace::evidence {

// What is none of these. Says what was expected.
class Unknown : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// `kubectl get pod -o json`, of one pod or a list; the output of `sacct`; a kernel's log. Told apart by what is
// in it. Throws Unknown.
void read_evidence(std::string_view text, double near_unix, Evidence& into);

} // namespace memtrace::evidence
