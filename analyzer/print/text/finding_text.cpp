// Purpose: writes a finding as text: the cause, its evidence in sentences, and what helps.
#include "analyzer/print/text/finding_text.h"

#include <fmt/core.h>

#include "analyzer/wording/utf8.h"

namespace memtrace::report {

void write_finding(const Finding& finding, std::size_t number, Lines& lines) {
  const std::string title = printable(finding.title) + (finding.certain ? "" : " (likely)");
  lines.strong(number == 0 ? title : fmt::format("{}. {}", number, title));
  std::string text;
  for (const std::string& sentence : finding.sentences) text += (text.empty() ? "" : " ") + sentence;
  lines.paragraph("   ", printable(text));
  lines.labelled("   Fix      ", "            ", printable(finding.remedy));
  if (!finding.no_remedy.empty()) lines.labelled("   No help  ", "            ", printable(finding.no_remedy));
}

} // namespace memtrace::report
