// Purpose: saves evidence beside its trace.
#include "analyzer/job/keep_evidence.h"

#include "analyzer/evidence/evidence_store.h"
#include "analyzer/files/packed_files.h"
#include "analyzer/files/warning.h"

namespace memtrace::report {

void keep(evidence::Evidence& evidence, const std::string& store) {
  if (files::PackedFiles::of_command().holds(store)) return; // a packed file does not change
  if (evidence::save(store, evidence)) {
    evidence = evidence::load(store).value_or(evidence);
  } else {
    files::warn(store + ": cannot be written, so evidence is not kept; copy the traces to where it can be");
  }
}

} // namespace memtrace::report
