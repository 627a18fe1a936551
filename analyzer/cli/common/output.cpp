// Purpose: writes the output of a command to a file or to stdout.
#include "analyzer/cli/common/output.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "analyzer/decode/recorded_file.h"
#include "analyzer/files/writing.h"
#include "analyzer/job/usage_error.h"

namespace memtrace::cli {

void check_report_file(const std::string& output) {
  if (const char* const content = trace::recorded_content(output); *content != '\0')
    throw report::UsageError(
        fmt::format("{}: is {}, which memtrace does not replace; name another file", output, content));
}

void check_packed_file(const std::string& output) {
  check_report_file(output);
  struct stat status {};
  if (::lstat(output.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    throw report::UsageError(output + ": is not a regular file; name another file");
}

void write_all(const std::vector<std::string>& pieces, const std::string& output) {
  if (!output.empty()) {
    check_report_file(output);
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
