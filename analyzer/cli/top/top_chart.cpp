// Purpose: bars of block characters, for the steps in `memtrace top`.
#include "analyzer/cli/top/top_chart.h"

#include <algorithm>

namespace memtrace::cli {
namespace {

constexpr const char* kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr const char* kAscii[] = {" ", ".", ".", ":", ":", "|", "|", "#", "#"};
constexpr std::int64_t kParts = 8; // of a character

} // namespace

Chart chart(std::span<const std::int64_t> values, std::size_t rows, bool utf8) {
  Chart out;
  if (values.empty() || rows == 0) return out;
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  out.high = *highest;
  out.low = std::min(*lowest, out.high - std::max<std::int64_t>(out.high / 100, 1));
  const double scale = static_cast<double>(static_cast<std::int64_t>(rows) * kParts - 1) /
                       static_cast<double>(out.high - out.low);
  for (std::size_t row = rows; row-- > 0;) {
    std::string line;
    for (const std::int64_t value : values) {
      const auto filled = static_cast<std::int64_t>(static_cast<double>(value - out.low) * scale) + 1;
      const auto part = std::clamp<std::int64_t>(filled - static_cast<std::int64_t>(row) * kParts, 0, kParts);
      line += (utf8 ? kBlocks : kAscii)[part];
    }
    out.lines.push_back(std::move(line));
  }
  return out;
}

} // namespace memtrace::cli
