// Purpose: writes a rank that holds more than the other ranks as text.
#include "analyzer/print/text/outlier_text.h"

#include <fmt/core.h>

#include "analyzer/wording/labels.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {

void write_outlier(const Outlier& outlier, Lines& lines) {
  std::string others =
      outlier.others == 1 ? "the other rank " : fmt::format("the other {} ranks ", outlier.others);
  others += size(outlier.median);
  if (outlier.least != outlier.most)
    others += fmt::format(" ({} to {})", size(outlier.least), size(outlier.most));
  lines.strong(printable(fmt::format("Rank {} differs (pid {}): {} at most on {}, {}: +{}", outlier.rank,
                                     outlier.pid, size(outlier.bytes), outlier.memory, others,
                                     size(outlier.bytes - outlier.median))));
  const std::string role =
      outlier.role == replay::role_name(replay::Role::unknown) ? "" : words_of(outlier.role) + " ";
  if (outlier.here > outlier.there)
    lines.paragraph("  ", printable(fmt::format("Most of the difference: {}{}, {} here and {} there", role,
                                                outlier.title, size(outlier.here), size(outlier.there))));
}

} // namespace memtrace::report
