// Purpose: commands that are modules of the Python package memtrace.
#include "analyzer/cli/run/python_module.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "analyzer/cli/common/python_start.h"
#include "analyzer/job/usage_error.h"

namespace memtrace::cli {

void become_python(std::vector<std::string> words, const std::string& way_out) {
  const std::vector<char*> argv = prepare_python(words);
  ::execvp(argv[0], argv.data());
  throw report::UsageError(words.front() + ": " + std::strerror(errno) + "; " + way_out);
}

} // namespace memtrace::cli
