// Purpose: commands that are modules of the Python package memtrace.
#include "analyzer/cli/run/python_module.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "analyzer/cli/common/install_paths.h"
#include "analyzer/job/usage_error.h"

namespace memtrace::cli {

void become_python(std::vector<std::string> words, const std::string& way_out) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  add_package_to_path();
  ::unsetenv("LD_PRELOAD");
  ::execvp(argv[0], argv.data());
  throw report::UsageError(words.front() + ": " + std::strerror(errno) + "; " + way_out);
}

} // namespace memtrace::cli
