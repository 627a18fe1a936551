// Purpose: saves evidence beside its trace.
#include "analyzer/job/keep_evidence.h"

#include <cstdlib>
#include <string_view>

#include "analyzer/evidence/evidence_store.h"
#include "analyzer/files/packed_files.h"
#include "analyzer/files/warning.h"

namespace memtrace::report {
namespace {

// True if a reader that must not write asks for it, as the server of `memtrace mcp` does.
bool must_not_write() {
  const char* const value = std::getenv("MEMTRACE_KEEP_EVIDENCE");
  return value != nullptr && std::string_view(value) == "0";
}

} // namespace

void keep(evidence::Evidence& evidence, const std::string& store) {
  if (files::PackedFiles::of_command().holds(store)) return; // a packed file does not change
  if (must_not_write()) return;
  if (evidence::save(store, evidence)) {
    evidence = evidence::load(store).value_or(evidence);
  } else {
    files::warn(store + ": cannot be written, so evidence is not kept; copy the traces to where it can be");
  }
}

} // namespace memtrace::report
