// Purpose: says which parts of a trace were left out because a newer memtrace wrote them.
#include "analyzer/wording/newer_parts.h"

#include <fmt/core.h>

#include <vector>

#include "analyzer/wording/units.h"

namespace memtrace::report {

std::string newer_parts(const trace::NewerParts& newer) {
  std::vector<std::string> parts;
  if (newer.segments != 0)
    parts.push_back(
        fmt::format("{} of {} segments ({})", count(newer.segments), count(newer.all), sized(newer.bytes)));
  if (newer.rings) parts.emplace_back("the ring file");
  if (newer.rollup) parts.emplace_back("the rows of dropped steps");
  if (parts.empty()) return "";
  std::string text = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) text += (i + 1 == parts.size() ? " and " : ", ") + parts[i];
  const bool one = parts.size() == 1 && newer.segments <= 1 && !newer.rollup;
  return fmt::format("{} {} of trace version {}", text, one ? "is" : "are", newer.version);
}

std::string newer_parts_line(const trace::NewerParts& newer) {
  const std::string parts = newer_parts(newer);
  if (parts.empty()) return "";
  if (newer.writer.empty())
    return parts + " of a newer memtrace, which this version does not read; install that version or later";
  return fmt::format(
      "{} (written by memtrace {}), which this version does not read; install memtrace {} or later", parts,
      newer.writer, newer.writer);
}

} // namespace memtrace::report
