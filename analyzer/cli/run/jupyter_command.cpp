// Purpose: `memtrace jupyter install`: adds a kernel to Jupyter that runs under the preload.
#include "analyzer/cli/run/jupyter_command.h"

#include <fmt/core.h>

#include <utility>

#include "analyzer/cli/run/preload_object.h"
#include "analyzer/cli/run/python_module.h"

namespace memtrace::cli {

int jupyter_command(const JupyterArguments& arguments) {
  std::vector<std::string> words = {arguments.python, "-m", "memtrace.notebook", "--name", arguments.name};
  if (!arguments.prefix.empty()) words.insert(words.end(), {"--prefix", arguments.prefix});
  if (arguments.sys_prefix) words.emplace_back("--sys-prefix");
  if (!arguments.display_name.empty()) words.push_back("--display-name=" + arguments.display_name);
  words.push_back("--env=LD_PRELOAD=" + preload_object());
  words.emplace_back("--env=MEMTRACE_QUIET=1"); // Jupyter may show the kernel's stderr in a cell
  for (const auto& [name, value] : arguments.variables)
    words.push_back(fmt::format("--env={}={}", name, value));
  become_python(std::move(words), "name a Python that has ipykernel: --python FILE");
}

} // namespace memtrace::cli
