// Purpose: what a post-mortem asks of evidence: which of it is about which process, and that it can be kept.
#pragma once

#include "analyzer/evidence/evidence.h"

namespace memtrace::tests {

void use_evidence(const evidence::Evidence& found);

bool same(const evidence::Evidence& a, const evidence::Evidence& b);

} // namespace memtrace::tests
