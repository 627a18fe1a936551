// Purpose: parses the name of a trace file: HOST-PID-START.memtrace.
#include "analyzer/job/trace_name.h"

#include <filesystem>

namespace memtrace::report {

std::optional<TraceName> trace_name(const std::string& path) {
  const std::filesystem::path file(path);
  if (file.extension() != ".memtrace") return std::nullopt;
  TraceName name;
  name.path = path;
  name.stem = file.stem().string();
  const std::string_view stem = name.stem;
  const std::size_t second = stem.rfind('-');
  if (second == 0 || second == std::string_view::npos) return std::nullopt;
  const std::size_t first = stem.rfind('-', second - 1); // a host name may have dashes
  if (first == std::string_view::npos) return std::nullopt;
  name.host = stem.substr(0, first);
  if (!number(stem.substr(first + 1, second - first - 1), name.pid, 10) ||
      !number(stem.substr(second + 1), name.start, 16))
    return std::nullopt;
  return name;
}

} // namespace memtrace::report
