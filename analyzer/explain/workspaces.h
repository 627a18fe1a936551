// Purpose: gives cuBLAS's workspaces their role, which only the names of native functions tell.
#pragma once

#include <map>

#include "analyzer/attribute/peak_composition.h"
#include "analyzer/symbols/symbolizer.h"

namespace memtrace::report {

// True if a tensor with this stack is a workspace, provided that it has kLeastWorkspace bytes.
bool is_workspace(symbols::Symbolizer& symbolizer, format::StackId stack);

// Sets the role of each workspace among the tensors of a GPU. The replay does not know the names of functions,
// so it inferred the role from the phase: on an H200, the 32 MiB of backward's thread were gradients.
void name_workspaces(std::map<replay::Instant, replay::Holdings>& sets, symbols::Symbolizer& symbolizer);

} // namespace memtrace::report
