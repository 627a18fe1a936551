// Purpose: turns a memory snapshot of PyTorch into a trace, with its names and its evidence beside it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "analyzer/snapshot/pickle_tree.h"

namespace memtrace::snapshot {

// Takes a part of a file. The parts of one file follow each other.
using TakeFilePart = std::function<void(const std::string& name, std::string_view part)>;

// Hands out the trace `name` and the files beside it. `path` is that of the snapshot. Throws trace::ReadError
// if the values are not those of a snapshot.
void translate(const PickleTree& tree, const std::string& path, const std::string& name,
               const TakeFilePart& take);

} // namespace memtrace::snapshot
