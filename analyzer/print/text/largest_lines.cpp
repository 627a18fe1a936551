// Purpose: names the user's lines that held the most bytes at one instant.
#include "analyzer/print/text/largest_lines.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <vector>

#include "analyzer/explain/holder_rows.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

struct LineBytes {
  std::string line;
  std::int64_t bytes = 0;
  std::uint64_t largest = 0;  // bytes of the largest block
  std::uint64_t as_large = 0; // blocks of exactly that size

  void add(const HolderRow& row) {
    bytes = replay::wrapping_add(bytes, row.bytes);
    if (row.largest < largest) return;
    as_large = (row.largest == largest ? as_large : 0) + row.as_large;
    largest = row.largest;
  }
  std::string in_words() const {
    std::string text = fmt::format("{} {}", printable(line), size(bytes));
    const double alike = static_cast<double>(largest) * static_cast<double>(as_large);
    if (as_large < 2 || as_large > kFewBlocks || alike < 0.9 * static_cast<double>(bytes)) return text;
    const bool all = size(bytes) == size(static_cast<std::int64_t>(largest * as_large));
    return text + fmt::format(" ({} x {}{})", as_large, sized(largest), all ? "" : " and smaller");
  }
};

} // namespace

std::string largest_lines(ProcessAnalysis& analysis, const replay::Holdings& alive, std::int64_t total) {
  constexpr std::size_t kLines = 3;
  std::map<std::string, LineBytes> sums;
  std::int64_t imports = 0;
  for (const HolderRow& row : holder_rows(analysis, alive, HolderDetail::by_line)) {
    if (row.line.empty()) continue;
    if (!row.import.empty()) {
      imports = replay::wrapping_add(imports, row.bytes);
      continue;
    }
    LineBytes& sum = sums[row.line];
    sum.line = row.line;
    sum.add(row);
  }
  std::vector<LineBytes> all;
  all.reserve(sums.size());
  for (const auto& [line, sum] : sums) all.push_back(sum);
  std::stable_sort(all.begin(), all.end(),
                   [](const LineBytes& a, const LineBytes& b) { return a.bytes > b.bytes; });
  std::string text;
  for (std::size_t i = 0; i < std::min(kLines, all.size()) && all[i].bytes >= total / 20; ++i)
    text += (text.empty() ? "" : ", ") + all[i].in_words();
  if (imports >= total / 20) text += fmt::format("{}imports {}", text.empty() ? "" : "; ", size(imports));
  return text;
}

} // namespace memtrace::report
