// Purpose: writes a rank that holds more than the other ranks as text.
#include "analyzer/print/text/outlier_text.h"

#include <fmt/core.h>

#include "analyzer/wording/labels.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {

namespace {

std::string row_text(const OutlierRow& row) {
  const std::string role = row.role == replay::role_name(replay::Role::unknown) ? "" : words_of(row.role) + " ";
  return fmt::format("{}{}, {} here and {} there", role, row.title, size(row.here), size(row.there));
}

} // namespace

void write_outlier(const Outlier& outlier, Lines& lines) {
  std::string others =
      outlier.others == 1 ? "the other rank " : fmt::format("the other {} ranks ", outlier.others);
  if (outlier.of_stage) others += "of its stage ";
  others += size(outlier.median);
  if (outlier.least != outlier.most)
    others += fmt::format(" ({} to {})", size(outlier.least), size(outlier.most));
  const std::string place = trace::text_of(outlier.coordinates);
  lines.strong(printable(fmt::format("Rank {} differs ({}{}pid {}): {} at most on {}, {}: +{}", outlier.rank,
                                     place, place.empty() ? "" : "; ", outlier.pid, size(outlier.bytes),
                                     outlier.memory, others, size(outlier.bytes - outlier.median))));
  const std::int64_t difference = outlier.bytes - outlier.median;
  for (std::size_t i = 0; i < outlier.rows.size(); ++i) {
    const OutlierRow& row = outlier.rows[i];
    constexpr std::int64_t kWorthALine = 10; // part of the difference
    if (i != 0 && row.here - row.there < difference / kWorthALine) break;
    lines.paragraph("  ", printable((i == 0 ? "Most of the difference: " : "then: ") + row_text(row)));
  }
  lines.paragraph("  ", fmt::format("all rows that differ: memtrace diff --rank {} --rank {} DIR",
                                    outlier.typical, outlier.rank));
}

} // namespace memtrace::report
