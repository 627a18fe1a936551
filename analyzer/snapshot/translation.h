// Purpose: turns a memory snapshot of PyTorch into a trace, with its names and its evidence beside it.
#pragma once

#include <string>

#include "analyzer/snapshot/pickle_tree.h"

namespace memtrace::snapshot {

// Adds the files to files::PackedFiles, as members of `path`. `name` is that of the trace. Throws
// trace::ReadError if the values are not those of a snapshot.
void translate(const PickleTree& tree, const std::string& path, const std::string& name);

} // namespace memtrace::snapshot
