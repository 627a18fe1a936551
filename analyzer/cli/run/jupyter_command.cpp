// Purpose: `memtrace jupyter install`: adds a kernel to Jupyter that runs under the preload.
#include "analyzer/cli/run/jupyter_command.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "analyzer/cli/common/install_paths.h"
#include "analyzer/cli/run/preload_object.h"
#include "analyzer/job/usage_error.h"

namespace memtrace::cli {
namespace {

std::vector<std::string> words_of(const JupyterArguments& arguments) {
  std::vector<std::string> out = {arguments.python, "-m", "memtrace.notebook", "--name", arguments.name};
  if (!arguments.prefix.empty()) out.insert(out.end(), {"--prefix", arguments.prefix});
  if (arguments.sys_prefix) out.emplace_back("--sys-prefix");
  if (!arguments.display_name.empty()) out.push_back("--display-name=" + arguments.display_name);
  out.push_back("--env=LD_PRELOAD=" + preload_object());
  out.emplace_back("--env=MEMTRACE_QUIET=1"); // Jupyter may show the kernel's stderr in a cell
  for (const auto& [name, value] : arguments.variables) out.push_back("--env=" + name + "=" + value);
  return out;
}

// The installer may be a module of this installation that its Python does not have.
void add_package_to_path() {
  const std::string folder = installed_package();
  if (folder.empty()) return;
  const char* const before = std::getenv("PYTHONPATH");
  const std::string list = before != nullptr && *before != '\0' ? folder + ":" + before : folder;
  ::setenv("PYTHONPATH", list.c_str(), 1);
}

} // namespace

int jupyter_command(const JupyterArguments& arguments) {
  std::vector<std::string> words = words_of(arguments);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  add_package_to_path();
  ::unsetenv("LD_PRELOAD"); // the installer is not part of what is traced
  ::execvp(argv[0], argv.data());
  throw report::UsageError(arguments.python + ": " + std::strerror(errno) +
                           "; name a Python that has ipykernel: --python FILE");
}

} // namespace memtrace::cli
