// Purpose: writes the output of a command to a file or to stdout.
#include "analyzer/cli/common/output.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "analyzer/decode/recorded_file.h"
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

Output::Output(const std::string& path) : path_(path) {
  if (path.empty()) return;
  check_report_file(path);
  if (!file_.emplace(path).is_open()) refuse();
}

void Output::refuse() const {
  if (!file_) throw report::UsageError("stdout: could not be written in full");
  throw report::UsageError(
      fmt::format("{}: cannot be written ({}); name another file with -o", path_, std::strerror(errno)));
}

void Output::write(std::string_view part) {
  if (file_ ? !file_->write(part) : std::fwrite(part.data(), 1, part.size(), stdout) != part.size()) refuse();
}

void Output::finish() {
  if (file_ ? !file_->finish() : std::fflush(stdout) != 0) refuse();
}

void write_all(const std::vector<std::string>& pieces, const std::string& output) {
  Output out(output);
  for (const std::string& piece : pieces) out.write(piece);
  out.finish();
}

} // namespace memtrace::cli
