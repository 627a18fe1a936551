// Purpose: writes the lines of a report about devices: the memory that each GPU shows, and why CUPTI was not
// active.
#include "analyzer/print/text/device_text.h"

#include <fmt/core.h>

#include "analyzer/explain/segment_use.h"
#include "analyzer/print/text/segments_text.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {

void write_devices(ProcessAnalysis& analysis, Lines& lines) {
  write_segments(analysis, lines);
  for (const auto& [memory, gpu] : analysis.account.device_usage) {
    const auto missed = why_use_is_unknown(analysis, memory);
    std::string text =
        fmt::format("{}: the GPU {} {} {}{}, {}", memory_name(memory), missed ? "showed" : "shows",
                    size(gpu.peak->bytes), gpu.own ? "for this process" : "for all processes",
                    missed ? "" : " at most", analysis.place(gpu.peak->path, gpu.peak->step));
    text += fmt::format("; {} of it does not belong to an allocation", size(gpu.residual.sum()));
    text += gpu.alone() ? fmt::format(" ({})", divided(gpu)) : ", and may be of other processes";
    if (gpu.own && gpu.others != 0) text += fmt::format("; other processes on it: {}", gpu.others);
    if (gpu.own && gpu.others_used != format::kNotSaid && gpu.others_used != 0)
      text += fmt::format(" with {}", size(static_cast<std::int64_t>(gpu.others_used)));
    if (const replay::Coverage rows = replay::coverage(analysis.buckets, analysis.account); rows.buckets != 0)
      text += fmt::format("; of {}, which are kept as rows, what it showed is not known",
                          step_range(rows.steps.first, rows.steps.last));
    if (missed) text += "; " + *missed;
    lines.paragraph("", text);
  }
  // Only a state that prevents CUPTI is shown. If CUPTI is active or was switched off, no line is written.
  if (const auto cupti = analysis.facts().note("cupti"); cupti && !cupti->starts_with("active"))
    lines.paragraph("", "CUPTI: " + printable(*cupti));
}

} // namespace memtrace::report
