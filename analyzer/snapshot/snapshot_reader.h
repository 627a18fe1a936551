// Purpose: opens a memory snapshot of PyTorch: its history becomes a trace that the command can read.
#pragma once

#include <string>

namespace memtrace::snapshot {

// Returns "" if the file does not begin like a pickle. Otherwise translates it, once for the command, into
// files::PackedFiles, and returns the path of the trace. Throws trace::ReadError if the file is damaged or is
// no snapshot of PyTorch.
std::string open(const std::string& path);

} // namespace memtrace::snapshot
