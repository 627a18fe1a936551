// Purpose: prepares this process for a Python program that uses the package memtrace.
#include "analyzer/cli/common/python_start.h"

#include <fmt/core.h>

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

std::string python_program(std::string_view command, std::string_view module, std::string_view what,
                           std::string_view extra) {
  return fmt::format(R"(import sys
sys.path[:] = [folder for folder in sys.path if folder]
try:
    from memtrace.{1} import main
except ImportError:
    print("memtrace: {0}: " + sys.executable + " has no package memtrace with {2}; install it: pip install "
          "'libmemtrace[{3}]', or name another Python: --python FILE", file=sys.stderr)
    sys.exit(2)
sys.exit(main(sys.argv[1:])))",
                     command, module, what, extra);
}

} // namespace memtrace::cli
