// Room: cli.
// Job: evidence is saved beside the trace that it is about.
#include "analyzer/cli/keep_evidence.h"

#include <spdlog/spdlog.h>

#include "analyzer/evidence/store.h"

namespace memtrace::cli {

void keep(evidence::Evidence& evidence, const std::string& store) {
  if (evidence::save(store, evidence)) {
    evidence = evidence::load(store).value_or(evidence);
  } else {
    spdlog::warn("{}: cannot be written, so evidence is not kept; copy the traces to where it can be", store);
  }
}

} // namespace memtrace::cli
