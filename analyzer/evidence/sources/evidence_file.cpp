// Purpose: reads an evidence file that the user gives: a pod, a job's accounting, a kernel's log.
#include "analyzer/evidence/sources/evidence_file.h"

#include "analyzer/evidence/sources/kernel_log.h"
#include "analyzer/evidence/sources/kubernetes_pod.h"
#include "analyzer/evidence/sources/manager_log.h"
#include "analyzer/evidence/sources/slurm_sacct.h"

namespace memtrace::evidence {

void read_evidence(std::string_view text, double near_unix, Evidence& into) {
  if (read_pods(text, into) || read_sacct(text, into)) return;
  const bool manager = is_manager_log(text); // the journal may have lines of both
  const bool kernel = is_kernel_log(text);
  if (!manager && !kernel) {
    throw Unknown(
        "expected the JSON of a pod or of events (kubectl get pod -o json), the output of sacct with JobID and "
        "State, a kernel's log, or a log of systemd-oomd, earlyoom, Ray or torchrun");
  }
  if (kernel) KernelLog(into, near_unix).all(text);
  if (manager) ManagerLog(into, near_unix).all(text);
}

} // namespace memtrace::evidence
