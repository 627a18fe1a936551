// Purpose: writes a call tree as memtrace.tree/1.
#pragma once

#include <string>

#include "analyzer/calltree/call_tree.h"
#include "analyzer/print/json/json_text.h"

namespace memtrace::report {

// Returns one list of nodes: a parent comes before its calls. Node 0 is the whole. `self_bytes` of all nodes
// add up to `total`. `finding`: its id, or "".
Json tree_json(const ProcessAnalysis& analysis, const HeldBlocks& held, const CallTree& tree,
               const std::string& finding);

} // namespace memtrace::report
