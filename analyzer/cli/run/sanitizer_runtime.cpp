// Purpose: finds the sanitizer runtime that an executable needs as a shared library.
#include "analyzer/cli/run/sanitizer_runtime.h"

#include <string_view>

#include "analyzer/cli/common/program_file.h"
#include "analyzer/symbols/needed_libraries.h"

namespace memtrace::cli {
namespace {

// The runtimes of gcc and clang. UBSan's is not listed: it has no malloc and works at any place in the order.
constexpr std::string_view kRuntimes[] = {"libasan.so",   "libtsan.so",       "liblsan.so",
                                          "libhwasan.so", "libclang_rt.asan", "libclang_rt.hwasan"};

} // namespace

std::string sanitizer_runtime(const std::string& command) {
  std::string path = found_in_path(command);
  if (const std::string interpreter = interpreter_of(path); !interpreter.empty())
    path = found_in_path(interpreter);
  for (const std::string& name : symbols::needed_libraries(path))
    for (const std::string_view runtime : kRuntimes)
      if (name.starts_with(runtime)) return name;
  return {};
}

} // namespace memtrace::cli
