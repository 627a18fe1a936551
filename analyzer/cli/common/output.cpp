// Purpose: writes the output of a command to a file or to stdout.
#include "analyzer/cli/common/output.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "analyzer/files/writing.h"
#include "analyzer/job/usage_error.h"

namespace memtrace::cli {

void write_all(const std::vector<std::string>& pieces, const std::string& output) {
  if (!output.empty()) {
    if (files::write_named(output, pieces)) return;
    throw report::UsageError(
        fmt::format("{}: cannot be written ({}); name another file with -o", output, std::strerror(errno)));
  }
  const bool written = std::all_of(pieces.begin(), pieces.end(), [](const std::string& piece) {
    return std::fwrite(piece.data(), 1, piece.size(), stdout) == piece.size();
  });
  if (!written || std::fflush(stdout) != 0) throw report::UsageError("stdout: could not be written in full");
}

} // namespace memtrace::cli
