// Purpose: prepares this process for a Python program that uses the package memtrace.
#include "analyzer/cli/common/python_start.h"

#include <cstdlib>

#include "analyzer/cli/common/install_paths.h"

namespace memtrace::cli {

std::vector<char*> prepare_python(std::vector<std::string>& words) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  add_package_to_path();
  ::unsetenv("LD_PRELOAD");
  return argv;
}

} // namespace memtrace::cli
