// Purpose: reads an evidence file that the user gives: a pod, a job's accounting, a kernel's log.
#include "analyzer/evidence/sources/evidence_file.h"

#include "analyzer/evidence/sources/kernel_log.h"
#include "analyzer/evidence/sources/kubernetes_pod.h"
#include "analyzer/evidence/sources/slurm_sacct.h"

namespace memtrace::evidence {

void read_evidence(std::string_view text, double near_unix, Evidence& into) {
  if (read_pods(text, into) || read_sacct(text, into)) return;
  if (!is_kernel_log(text)) {
    throw Unknown(
        "expected a pod's JSON (kubectl get pod -o json), the output of sacct with JobID and State, or "
        "a kernel's log");
  }
  KernelLog(into, near_unix).all(text);
}

} // namespace memtrace::evidence
