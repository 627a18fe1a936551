// Purpose: fuzz target: what Kubernetes says of a pod's containers.
#include "analyzer/evidence/sources/kubernetes_pod.h"

#include "bytes.h"
#include "evidence_use.h"

using namespace memtrace;
using namespace memtrace::tests;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  evidence::Evidence found;
  const bool is = evidence::read_pods({reinterpret_cast<const char*>(data), size}, found);
  expect(is || found.statements.empty(), "another text has statements");
  use_evidence(found);
  return 0;
}
