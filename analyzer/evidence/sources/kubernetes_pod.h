// Purpose: reads what Kubernetes reports about a pod's containers.
#pragma once

#include <string_view>

#include "analyzer/evidence/evidence.h"

namespace memtrace::evidence {

// Reads the output of `kubectl get pod -o json` or `kubectl get events -o json`: one object or a list. Returns
// false if the text is not of that form.
bool read_pods(std::string_view json, Evidence& into);

} // namespace memtrace::evidence
