// Purpose: `memtrace mcp`: starts the server that reads traces for editors and assistants.
#include "analyzer/cli/run/mcp_command.h"

#include <cstdlib>
#include <utility>

#include "analyzer/cli/common/install_paths.h"
#include "analyzer/cli/run/python_module.h"

namespace memtrace::cli {
namespace {

// Editors start a server in the folder of a project: its files must not replace modules of Python.
constexpr const char* kStart = R"(import sys
sys.path[:] = [folder for folder in sys.path if folder]
try:
    from memtrace.mcp_server.start import main
except ImportError:
    print("memtrace: mcp: " + sys.executable + " has no package memtrace with the server; install it: pip install "
          "'libmemtrace[mcp]', or name another Python: memtrace mcp --python FILE", file=sys.stderr)
    sys.exit(2)
sys.exit(main(sys.argv[1:])))";

} // namespace

int mcp_command(const McpArguments& arguments) {
  std::vector<std::string> words = {arguments.python, "-c", kStart, "--"};
  words.insert(words.end(), arguments.directories.begin(), arguments.directories.end());
  // The server runs this command again, and not another one that is first on PATH.
  ::setenv("MEMTRACE_COMMAND", command_file().c_str(), 1);
  become_python(std::move(words), "name a Python from 3.10 that has the package mcp: --python FILE");
}

} // namespace memtrace::cli
