// Purpose: what Kubernetes says of a pod's containers.
#pragma once

#include <string_view>

#include "analyzer/evidence/evidence.h"

namespace memtrace::evidence {

// `kubectl get pod -o json`: one pod, or a list of them. False when it is no such thing.
bool read_pods(std::string_view json, Evidence& into);

} // namespace memtrace::evidence
