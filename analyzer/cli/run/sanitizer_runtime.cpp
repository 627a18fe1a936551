// Purpose: finds the sanitizer runtime that an executable needs as a shared library.
#include "analyzer/cli/run/sanitizer_runtime.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "analyzer/files/reading.h"
#include "analyzer/symbols/needed_libraries.h"

namespace memtrace::cli {
namespace {

// The runtimes of gcc and clang. UBSan's is not listed: it has no malloc and works at any place in the order.
constexpr std::string_view kRuntimes[] = {"libasan.so",   "libtsan.so",       "liblsan.so",
                                          "libhwasan.so", "libclang_rt.asan", "libclang_rt.hwasan"};

bool can_run(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::string file_of(const std::string& command) {
  if (command.find('/') != std::string::npos) return command;
  const char* const list = std::getenv("PATH");
  std::string_view rest = list != nullptr ? list : "/bin:/usr/bin";
  for (;;) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string folder(rest.substr(0, end));
    std::string path = (folder.empty() ? "." : folder) + "/" + command;
    if (can_run(path)) return path;
    if (end == rest.size()) return {};
    rest.remove_prefix(end + 1);
  }
}

// Returns the interpreter of a script, or "". "#!/usr/bin/env python3" names env, which searches PATH for its
// first argument.
std::string interpreter_of(const std::string& script) {
  char head[256];
  std::string why;
  const int file = files::open_to_read(script, files::Origin::system, why);
  if (file < 0) return {};
  const ssize_t bytes = ::read(file, head, sizeof head);
  ::close(file);
  std::string_view line(head, bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  if (!line.starts_with("#!")) return {};
  line = line.substr(2, line.find('\n') - 2);
  const auto word = [&line] {
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    const std::string_view out = line.substr(0, line.find_first_of(" \t\r"));
    line.remove_prefix(out.size());
    return std::string(out);
  };
  const std::string first = word();
  return first.ends_with("/env") ? file_of(word()) : first;
}

} // namespace

std::string sanitizer_runtime(const std::string& command) {
  std::string path = file_of(command);
  if (const std::string interpreter = interpreter_of(path); !interpreter.empty()) path = interpreter;
  for (const std::string& name : symbols::needed_libraries(path))
    for (const std::string_view runtime : kRuntimes)
      if (name.starts_with(runtime)) return name;
  return {};
}

} // namespace memtrace::cli
