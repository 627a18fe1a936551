// Purpose: the small files of a job without private names: evidence, ends, the files of attempts, symbols.
#pragma once

#include <string>

#include "analyzer/evidence/evidence.h"
#include "analyzer/pack/redact/private_names.h"
#include "analyzer/symbols/stored_names.h"
#include "analyzer/trace/trace.h"

namespace memtrace::redact {

evidence::Evidence redacted_evidence(evidence::Evidence evidence, PrivateNames& names);

// `content`: the lines that `memtrace run` wrote. Leaves out lines that cannot be parsed.
std::string redacted_ends(const std::string& content, PrivateNames& names);

// `content`: the file `job` of an attempt. Leaves out the hash of its command line, which could be guessed, and
// lines that no reader knows.
std::string redacted_job(const std::string& content, PrivateNames& names);

// Replaces the source files of private objects. Names of functions stay.
symbols::StoredNames redacted_symbols(const symbols::StoredNames& from, const trace::Trace& trace,
                                      PrivateNames& names);

} // namespace memtrace::redact
