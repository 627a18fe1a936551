// Purpose: the values of rows that the database and the files of a fleet have in common.
#include "analyzer/export/tables/job_rows.h"

namespace memtrace::report {

std::optional<std::int64_t> step_number(replay::Step step) {
  if (step == replay::Step::none) return std::nullopt;
  return static_cast<std::int64_t>(step);
}

const char* measure_name(replay::SeriesMeasure measure) {
  constexpr const char* kNames[] = {"live", "tensor", "reserved", "used", "rss"};
  return kNames[static_cast<std::size_t>(measure)];
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += (out.empty() ? "" : " ") + line;
  return out;
}

} // namespace memtrace::report
