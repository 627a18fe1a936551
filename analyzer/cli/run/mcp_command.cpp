// Purpose: `memtrace mcp`: starts the server that reads traces for editors and assistants.
#include "analyzer/cli/run/mcp_command.h"

#include <cstdlib>
#include <utility>

#include "analyzer/cli/common/install_paths.h"
#include "analyzer/cli/common/python_start.h"
#include "analyzer/cli/run/python_module.h"

namespace memtrace::cli {
int mcp_command(const McpArguments& arguments) {
  std::vector<std::string> words = {arguments.python, "-c",
                                    python_program("mcp", "mcp_server.start", "the server", "mcp"), "--"};
  words.insert(words.end(), arguments.directories.begin(), arguments.directories.end());
  // The server runs this command again, and not another one that is first on PATH.
  ::setenv("MEMTRACE_COMMAND", command_file().c_str(), 1);
  become_python(std::move(words), "name a Python from 3.10 that has the package mcp: --python FILE");
}

} // namespace memtrace::cli
