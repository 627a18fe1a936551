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

namespace {

[[noreturn]] void keep(const std::string& output, const char* content) {
  throw report::UsageError(fmt::format("{}: is {}, and -o replaces none; name another file", output, content));
}

} // namespace

void check_report_file(const std::string& output) {
  if (const char* const content = trace::recorded_content(output); *content != '\0') keep(output, content);
}

void check_packed_file(const std::string& output) {
  struct stat status {};
  if (::lstat(output.c_str(), &status) != 0) return;
  if (!S_ISREG(status.st_mode)) throw report::UsageError(output + ": is not a regular file; name another file");
  const std::string content = trace::recorded_content(output);
  if (content.ends_with("trace")) keep(output, content.c_str());
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
