// Purpose: reads what Slurm's accounting reports about a job's steps.
#include "analyzer/evidence/sources/slurm_sacct.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "analyzer/evidence/sources/log_time.h"
#include "analyzer/evidence/text_scan.h"

namespace memtrace::evidence {
namespace {

using Fields = std::vector<std::string_view>;

// Returns the begin and the width of each column of a table. A row of dashes below the names marks the columns.
std::vector<std::pair<std::size_t, std::size_t>> columns_of(std::string_view dashes) {
  std::vector<std::pair<std::size_t, std::size_t>> columns;
  for (std::size_t at = 0; (at = dashes.find('-', at)) != std::string_view::npos;) {
    const std::size_t end = std::min(dashes.find(' ', at), dashes.size());
    columns.emplace_back(at, end - at);
    at = end;
  }
  return columns;
}

Fields split(std::string_view line) {
  Fields fields;
  for (;;) {
    const std::size_t end = line.find('|');
    fields.push_back(trimmed(line.substr(0, end)));
    if (end == std::string_view::npos) return fields;
    line.remove_prefix(end + 1);
  }
}

using Column = std::pair<std::size_t, std::size_t>; // its first character, its width

std::string_view cut(std::string_view line, const Column& column) {
  const auto& [from, width] = column;
  return trimmed(from < line.size() ? line.substr(from, width) : std::string_view());
}

Fields cut(std::string_view line, const std::vector<Column>& columns) {
  Fields fields;
  for (const Column& column : columns) fields.push_back(cut(line, column));
  return fields;
}

// Returns the bytes of "900M", "1.50G", "921600K", "900Mn" or "4Gc", or kUnknown. To Slurm, a number without a
// unit is in megabytes.
std::uint64_t quantity(std::string_view text) {
  const std::string words(text);
  char* end = nullptr;
  const double figure = std::strtod(words.c_str(), &end);
  if (end == words.c_str() || !(figure > 0) || *end == '\0') return kUnknown;
  const double unit = *end == 'K'   ? 0x1p10
                      : *end == 'M' ? 0x1p20
                      : *end == 'G' ? 0x1p30
                      : *end == 'T' ? 0x1p40
                                    : 0;
  // "c" means per CPU. The number of CPUs is in another column, and a guessed limit is not a limit.
  if (unit == 0 || *(end + 1) == 'c' || figure * unit > 1e18) return kUnknown;
  return static_cast<std::uint64_t>(std::llround(figure * unit));
}

void take(const std::map<std::string, std::string_view>& row, Evidence& into) {
  const auto field = [&row](const char* name) {
    const auto found = row.find(name);
    return found == row.end() ? std::string_view() : found->second;
  };
  const std::string_view state = field("State");
  if (field("JobID").empty() || state.empty() || state == "RUNNING" || state == "PENDING") return;
  Statement statement;
  statement.source = "sacct";
  statement.who = "job step " + std::string(field("JobID"));
  statement.host = field("NodeList");
  statement.reason = state;
  statement.out_of_memory = state.starts_with("OUT_OF_ME"); // narrow columns cut it off: OUT_OF_ME+
  if (const std::string_view exit = field("ExitCode"); exit.find(':') != std::string_view::npos) {
    statement.code = static_cast<int>(number(exit).value_or(0));
    statement.signal = static_cast<int>(number(exit.substr(exit.find(':') + 1)).value_or(0));
  }
  statement.began = iso_time(field("Start")).value_or(When{});
  statement.ended = iso_time(field("End")).value_or(When{});
  statement.limit = quantity(field("ReqMem"));
  into.statements.push_back(std::move(statement));
}

} // namespace

bool read_sacct(std::string_view text, Evidence& into) {
  const std::string_view header = next_line(text);
  const bool bars = header.find('|') != std::string_view::npos;
  std::vector<Column> columns;
  if (!bars) columns = columns_of(next_line(text));
  const Fields names = bars ? split(header) : cut(header, columns);
  // Reads only the needed columns of each line: a table may have as many columns as lines.
  std::map<std::string, std::size_t> places;
  for (const char* const name : {"JobID", "State", "NodeList", "ExitCode", "Start", "End", "ReqMem"}) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) places[name] = static_cast<std::size_t>(found - names.begin());
  }
  if (!places.contains("JobID") || !places.contains("State")) return false;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    const Fields fields = bars ? split(line) : Fields();
    std::map<std::string, std::string_view> row;
    for (const auto& [name, place] : places) {
      if (!bars) row[name] = cut(line, columns[place]);
      if (bars && place < fields.size()) row[name] = fields[place];
    }
    take(row, into);
  }
  return true;
}

} // namespace memtrace::evidence
